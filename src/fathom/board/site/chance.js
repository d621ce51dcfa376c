/* Random numbers from a seed: the same page gives the same figures every time. */
(function (fathom) {
  "use strict";

  /** The hash of a text, 32 bits (FNV-1a). */
  fathom.hash = function (text) {
    let hash = 0x811c9dc5;
    for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193);
    return hash >>> 0;
  };

  /** A generator (sfc32, by Chris Doty-Humphrey) as functions: bits() gives 32 of them, uniform() lies in (0, 1). */
  fathom.chance = function (seed) {
    let [a, b, c, d] = [0x9e3779b9, fathom.hash(seed), fathom.hash(seed + "\u0001"), 1];
    function bits() {
      const sum = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + sum) | 0;
      return sum;
    }
    for (let n = 0; n < 15; n++) bits();
    const uniform = () => ((bits() >>> 0) + 0.5) / 4294967296;

    let spare = null;
    function normal() {
      if (spare !== null) {
        const kept = spare;
        spare = null;
        return kept;
      }
      const size = Math.sqrt(-2 * Math.log(uniform()));
      const angle = 2 * Math.PI * uniform();
      spare = size * Math.sin(angle);
      return size * Math.cos(angle);
    }

    /** A gamma variate with this shape and scale 1 (Marsaglia and Tsang 2000, "A Simple Method for Generating Gamma
     * Variables", ACM TOMS 26). */
    function gamma(shape) {
      if (shape < 1) return gamma(shape + 1) * uniform() ** (1 / shape);
      const third = shape - 1 / 3;
      const spread = 1 / Math.sqrt(9 * third);
      for (;;) {
        const x = normal();
        const v = (1 + spread * x) ** 3;
        if (v > 0 && Math.log(uniform()) < 0.5 * x * x + third - third * v + third * Math.log(v)) return third * v;
      }
    }
    return { bits, uniform, gamma };
  };
})(window.fathom);
