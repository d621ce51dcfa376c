/* Data that the first view waits for, asked for before the rest of the page is read. */
(function (fathom) {
  "use strict";
  const named = /^#\/boards\/([a-z0-9-]+)/.exec(location.hash);
  const models = /^#\/models\/?(\?|$)/.test(location.hash);
  fathom.load("site").then((site) => named || models || fathom.load("boards/" + site.default)).catch(() => {});
  if (models) fathom.load("index").catch(() => {});
  if (named && fathom.isSlug(named[1])) fathom.load("boards/" + named[1]).catch(() => {});
})(window.fathom);
