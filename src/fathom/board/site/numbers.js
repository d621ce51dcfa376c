/* Numbers as people read them. An estimate is null or [value, [low, high] or null, questions or null, bound 0 or 1], and where
 * replies are no whole answers [..., the other mean in words or null, [replies, unanswered, cut, overflow, missing]]. */
(function (fathom) {
  "use strict";
  const MINUS = "\u2212";

  const signed = (text) => text.replace("-", MINUS);

  /** A fraction as a percentage without its sign. */
  fathom.percent = (value, digits = 1) => signed((100 * value).toFixed(digits).replace(/^-(0(?:\.0*)?)$/, "$1"));

  /** A difference of fractions in points, with its sign. */
  fathom.points = function (value) {
    const text = fathom.percent(value);
    return value > 0 && text !== "0.0" ? "+" + text : text;
  };

  /** Ends of the 95% interval; null where there is none. */
  fathom.ends = (est) => est && est[1];

  /** An interval; its ends may be negative.
   * @param {function} show - writes a number; as percent by default. */
  fathom.range = ([low, high], show = fathom.percent) => show(low) + (low < 0 ? " to " : "\u2013") + show(high);

  /** A score with all that is known of it, in words. */
  fathom.said = function (est, percent = true) {
    if (!est) return "no score";
    const show = percent ? (value) => fathom.percent(value) + "%" : fathom.plainNumber;
    const ends = fathom.ends(est);
    let text = show(est[0]);
    text += ends ? ", 95% interval " + show(ends[0]) + " to " + show(ends[1]) : ", interval not known";
    if (est[3]) text += " (at most so wide: only the mean is published)";
    if (est[2]) text += ", " + fathom.count(est[2]) + " questions";
    return text + fathom.both(est) + fathom.ended(est);
  };

  /** The mean by the other way to count what was not answered, where it must be said; else "". */
  fathom.both = (est) => (est && est[4] ? "; " + fathom.plain(est[4]) : "");

  /** The same as a figure with its name, for a cell of a table; null where nothing must be said. */
  fathom.beside = function (est) {
    if (!est || !est[4]) return null;
    const text = fathom.plain(est[4]);
    const [value, how] = [text.slice(0, text.search(/ with(out)? the /)), text.includes(" without the ")];
    const small = document.createElement("span");
    small.className = "ci";
    small.title = text;
    // Not "answered: 57%", which reads as the share of replies that were answered.
    small.textContent = (how ? "answered only: " : "unanswered as 0: ") + value.replace("%", "");
    return small;
  };

  /** What became of the replies behind a score, where not all are whole answers; else "". */
  fathom.ended = function (est) {
    if (!est || !est[5]) return "";
    const [replies, ...counts] = est[5];
    const words = ["unanswered", "cut by the output cap", "too long for the model", "missing"];
    return `; of ${fathom.many(replies, "reply", "replies")} ` + words.map((word, n) => counts[n] && `${fathom.count(counts[n])} ${word}`).filter(Boolean).join(", ");
  };

  /** A number that is not a fraction, with three digits. */
  fathom.plainNumber = function (value) {
    const size = Math.abs(value);
    return signed(size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2));
  };

  fathom.count = (value) => Math.round(value).toLocaleString("en");

  /** "1 line", "3 lines". */
  fathom.many = (count, noun, plural) => fathom.count(count) + "\u00a0" + (count === 1 ? noun : plural || noun + "s");

  /** A length in tokens as people write it: 128k for 128,000 and for 131,072. */
  fathom.tokens = function (length) {
    if (length >= 1000 && length % 1000 === 0) return length / 1000 + "k";
    if (length >= 1024 && length % 1024 === 0) return length / 1024 + "k";
    return fathom.count(length);
  };

  /** US dollars. */
  fathom.dollars = function (value) {
    return "$" + (value >= 1 ? Math.round(value * 100) / 100 : Number(value.toPrecision(2)));
  };

  /** A time with two digits. */
  fathom.seconds = (value) => (value < 0.1 ? Number((1000 * value).toPrecision(2)) + "\u00a0ms" : (value < 10 ? value.toFixed(1) : fathom.count(value)) + "\u00a0s");

  /** How many of so many tests have p below .05 where there is no difference: the expectation, not a round number. */
  fathom.expected = (tests) => String(Number((tests * 0.05).toFixed(2)));

  /** A p-value, as people write it. */
  fathom.pValue = (p) => (p < 0.001 ? "< .001" : p.toFixed(3).replace(/^0/, ""));

  /** A rank, or the ranks that the data allow. */
  fathom.rank = (rank) => (rank ? (rank[0] === rank[1] ? String(rank[0]) : rank[0] + "\u2013" + rank[1]) : "\u2013");

  /** The step of the heat scale, 0 to 9. */
  fathom.heat = (value) => Math.min(9, Math.max(0, Math.floor(value * 10)));
})(window.fathom);
