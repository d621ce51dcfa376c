/* Data files of the site: each calls fathom.add(NAME, VALUE). They are scripts, because pages opened from disk may
   load nothing else. */
(function () {
  "use strict";
  const fathom = (window.fathom = {});
  const values = new Map();
  const waiting = new Map();
  const SLUG = /^[a-z0-9][a-z0-9-]{0,79}$/;

  // The one place where text becomes the address of a script; the page's policy refuses all others.
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("fathom", { createScriptURL: checked })
    : { createScriptURL: checked };

  function checked(address) {
    const parts = address.replace(/^data\//, "").replace(/\.js$/, "").split("/");
    if (!parts.every((part) => SLUG.test(part))) throw new TypeError("not a data file: " + address);
    return address;
  }

  /** Whether text can be the key of an entry, the id of a board, or the name of a file. */
  fathom.isSlug = (text) => SLUG.test(text);

  /** Called by the data files. */
  fathom.add = function (name, value) {
    values.set(name, value);
  };

  /** The value of a data file such as "boards/pro", as a promise; rejected if there is no such file. */
  fathom.load = function (name) {
    if (!waiting.has(name)) waiting.set(name, request(name));
    return waiting.get(name);
  };

  /** Forgets a file that is not needed any more. */
  fathom.forget = function (name) {
    values.delete(name);
    waiting.delete(name);
  };

  function request(name) {
    return new Promise(function (resolve, reject) {
      if (values.has(name)) return resolve(values.get(name));
      const script = document.createElement("script");
      script.src = policy.createScriptURL("data/" + name + ".js");
      script.onload = () => (script.remove(), values.has(name) ? resolve(values.get(name)) : reject(absent(name)));
      script.onerror = () => reject(absent(name));
      document.head.append(script);
    });
  }

  function absent(name) {
    return new Error("The file data/" + name + ".js is not part of this site.");
  }
})();
