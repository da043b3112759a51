"use strict";
(function () {
  var root = document.documentElement;
  var theme = document.getElementById("theme");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", function () {
      var dark = matchMedia("(prefers-color-scheme: dark)").matches;
      var now = root.dataset.theme || (dark ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
    });
  }
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details:not([open])").forEach(function (d) {
      d.open = true;
      d.dataset.opened = "1";
    });
  });
  addEventListener("afterprint", function () {
    document.querySelectorAll("details[data-opened]").forEach(function (d) {
      d.open = false;
      delete d.dataset.opened;
    });
  });
  function key(row, i) {
    var text = row.cells[i] ? row.cells[i].textContent.trim() : "";
    var value = parseFloat(text.replace(/,/g, ""));
    return isNaN(value) ? text : value;
  }
  function sort(table, i, down) {
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = key(a, i), y = key(b, i);
      var order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
      return down ? -order : order;
    });
    rows.forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("table.sortable, table.data").forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (th, i) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      while (th.firstChild) button.appendChild(th.firstChild);
      th.appendChild(button);
      button.addEventListener("click", function () {
        var down = th.getAttribute("aria-sort") === "ascending";
        Array.prototype.forEach.call(th.parentNode.cells, function (c) { c.removeAttribute("aria-sort"); });
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, i, down);
      });
    });
  });
})();
