/* Numbers as people read them. An estimate is null or [value, [low, high] or null, questions or null, bound 0 or 1], and if
 * not all replies are complete answers [..., the other mean as text or null, [replies, unanswered, cut, overflow, missing]]. */
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

  /** Ends of the 95% interval; null without one. */
  fathom.ends = (est) => est && est[1];

  /** An interval; its ends may be negative.
   * @param {function} show - writes a number; as percent by default. */
  fathom.range = ([low, high], show = fathom.percent) => show(low) + (low < 0 ? " to " : "\u2013") + show(high);

  /** A score with its interval, questions and replies, as text. */
  fathom.said = function (est, percent = true) {
    if (!est) return "no score";
    const show = percent ? (value) => fathom.percent(value) + "%" : fathom.plainNumber;
    const ends = fathom.ends(est);
    let text = show(est[0]);
    text += ends ? ", 95% interval " + show(ends[0]) + " to " + show(ends[1]) : ", interval unknown";
    if (est[3]) text += " (the widest possible: only the mean is published)";
    if (est[2]) text += ", " + fathom.count(est[2]) + " questions";
    return text + fathom.both(est) + fathom.ended(est);
  };

  /** The mean under the other rule for unanswered replies, if it differs; else "". */
  fathom.both = (est) => (est && est[4] ? "; " + fathom.plain(est[4]) : "");

  /** The same for a cell of a table; null if it does not differ. */
  fathom.beside = function (est) {
    if (!est || !est[4]) return null;
    const text = fathom.plain(est[4]);
    const [value, how] = [text.slice(0, text.search(/ with(out)? the /)), text.includes(" without the ")];
    const small = document.createElement("span");
    small.className = "ci";
    small.title = text;
    // Not "answered: 57%", which reads as the share of answered replies.
    small.textContent = (how ? "answered only: " : "unanswered as 0: ") + value.replace("%", "");
    return small;
  };

  /** Counts of the replies of a score, if not all are complete answers; else "". */
  fathom.ended = function (est) {
    if (!est || !est[5]) return "";
    const [replies, ...counts] = est[5];
    const words = ["unanswered", "truncated at the output cap", "too long for the model", "missing", "not scored because of an error of the scorer"];
    return `; of ${fathom.many(replies, "reply", "replies")} ` + words.map((word, n) => counts[n] && `${fathom.count(counts[n])} ${word}`).filter(Boolean).join(", ");
  };

  /** A number that is not a fraction, with three digits; whole ones as they are. */
  fathom.plainNumber = function (value) {
    const size = Math.abs(value);
    return signed(size >= 100 || Number.isInteger(value) ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2));
  };

  fathom.count = (value) => Math.round(value).toLocaleString("en");

  /** "1 task", "3 tasks". */
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

  /** The expected number of tests with p below .05 if there is no difference. */
  fathom.expected = (tests) => String(Number((tests * 0.05).toFixed(2)));

  /** A p-value, as people write it. */
  fathom.pValue = (p) => (p < 0.001 ? "< .001" : p.toFixed(3).replace(/^0/, ""));

  /** A rank, or a range of ranks. */
  fathom.rank = (rank) => (rank ? (rank[0] === rank[1] ? String(rank[0]) : rank[0] + "\u2013" + rank[1]) : "\u2013");

  /** The step of the heat scale, 0 to 9. */
  fathom.heat = (value) => Math.min(9, Math.max(0, Math.floor(value * 10)));
})(window.fathom);
