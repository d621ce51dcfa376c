/* The address: the part after "#" determines what the page shows, so that every view is a link. */
(function (fathom) {
  "use strict";

  /** What an address asks for: {page, id, query}. */
  fathom.read = function (hash) {
    const [path, search] = String(hash).replace(/^#\/?/, "").split("?");
    const [page, id] = path.split("/");
    const query = {};
    for (const [name, value] of new URLSearchParams(search || "")) query[name] = value;
    return { page: page || "boards", id: decoded(id || ""), query };
  };

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** The address of a page; empty values of the query are left out. */
  fathom.to = function (page, id, query) {
    const kept = Object.entries(query || {}).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const search = kept.map(([name, value]) => name + "=" + escape(value)).join("&");
    return "#/" + page + (id ? "/" + encodeURIComponent(id) : "") + (search ? "?" + search : "");
  };

  // Commas and slashes are harmless after "#", and links are easier to read with them.
  function escape(value) {
    return encodeURIComponent(value).replace(/%2C/g, ",").replace(/%2F/g, "/").replace(/%20/g, "+");
  }

  /** Goes to an address; `quietly` without a step of the back button (typing in a field). */
  fathom.go = function (address, quietly) {
    if (address === location.hash) return;
    if (quietly) {
      history.replaceState(null, "", address);
      fathom.route();
    } else location.hash = address;
  };
})(window.fathom);
