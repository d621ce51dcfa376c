// The value of a mark under the pointer, and by arrow keys in a chart that has the focus.
(function (fathom) {
  var box = document.createElement("div"), shown = null;
  box.id = "value";
  box.setAttribute("role", "status");
  document.body.appendChild(box);

  function middle(mark) {
    var edges = mark.shape.getBoundingClientRect();
    return { x: edges.left + edges.width / 2, y: edges.top + edges.height / 2 };
  }
  function hide() {
    if (shown) shown.shape.classList.remove("shown");
    shown = null;
    box.textContent = "";
  }
  function show(mark) {
    if (shown === mark) return;
    hide();
    shown = mark;
    mark.shape.classList.add("shown");
    box.textContent = texts(mark);
    place(mark);
  }
  // Also of the marks that lie under it.
  function texts(mark) {
    var at = middle(mark);
    return mark.text + mark.chart.filter(function (other) {
      var place = middle(other);
      return other !== mark && Math.hypot(place.x - at.x, place.y - at.y) < 2;
    }).map(function (other) { return "\n" + other.text; }).join("");
  }
  function place(mark) {
    var at = middle(mark), wide = box.offsetWidth;
    box.style.left = scrollX + Math.max(4, Math.min(at.x - wide / 2, document.documentElement.clientWidth - wide - 4)) + "px";
    box.style.top = scrollY + (at.y > 60 ? at.y - box.offsetHeight - 12 : at.y + 16) + "px";
  }
  function nearest(marks, far) {
    var best = null, least = Infinity;
    marks.forEach(function (mark) {
      var distance = far(middle(mark));
      if (distance < least) { best = mark; least = distance; }
    });
    return best;
  }
  document.addEventListener("scroll", function () { if (shown) place(shown); }, true);
  // Prepare a chart whose marks have titles.
  fathom.values = function (svg) {
    var marks = Array.prototype.map.call(svg.querySelectorAll("title"), function (title) {
      var mark = { shape: title.parentNode, text: title.textContent };
      title.remove();
      return mark;
    });
    marks.forEach(function (mark) { mark.chart = marks; });
    if (!marks.length) return;
    svg.setAttribute("role", "application");
    svg.setAttribute("aria-roledescription", "chart: arrow keys read its values");
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", function (event) {
      var inside = marks.filter(function (mark) { return mark.shape === event.target; })[0];
      var mark = inside || nearest(marks, function (at) {
        var distance = Math.hypot(at.x - event.clientX, at.y - event.clientY);
        return distance < 24 ? distance : Infinity;
      });
      if (mark) show(mark); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", function (event) {
      var place = marks.indexOf(shown), to = null, here = shown && middle(shown);
      if (event.key === "Escape") return hide();
      if (event.key === "Home" || (event.key.startsWith("Arrow") && place < 0)) to = marks[0];
      else if (event.key === "End") to = marks[marks.length - 1];
      else if (event.key === "ArrowRight") to = marks[place + 1];
      else if (event.key === "ArrowLeft") to = marks[place - 1];
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        // The next one above or below, and first of all those right above or below.
        var sign = event.key === "ArrowDown" ? 1 : -1;
        to = nearest(marks, function (at) {
          var down = sign * (at.y - here.y);
          return down > 0.5 ? down + 20 * Math.abs(at.x - here.x) : Infinity;
        });
      } else return;
      event.preventDefault();
      if (to) {
        to.shape.scrollIntoView({ block: "nearest", inline: "nearest" });
        show(to);
      }
    });
  };
  document.querySelectorAll("figure svg, .map svg").forEach(fathom.values);
})(window.fathom = window.fathom || {});
