(() => {
  "use strict";
  const root = document.documentElement;
  window.addEventListener("error", event => { root.dataset.error = event.message; });
  window.addEventListener("unhandledrejection", event => { root.dataset.error = String(event.reason); });

  const METRICS = [
    { key: "BANDWIDTH", member: "bandwidth", words: "bandwidth", unit: "Gb/s", per: 1e9, higher: true },
    { key: "MESSAGE_RATE", member: "messageRate", words: "message rate", unit: "Mmsg/s", per: 1e6, higher: true },
    { key: "LATENCY_P50", member: "latencyP50", words: "latency p50", unit: "µs", per: 1e-6, higher: false },
    { key: "LATENCY_P99", member: "latencyP99", words: "latency p99", unit: "µs", per: 1e-6, higher: false }
  ];
  const NOT_MEASURED = 2;
  const FAILED = 3;
  const FAILED_COLOUR = [181, 23, 158];
  const NOT_MEASURED_COLOUR = [150, 156, 163];
  /* Light blue is good, dark brown is bad: told apart by brightness alone, and by hue with every kind of colour vision. */
  const RAMP = ramp([[0, 199, 220, 240], [0.15, 214, 228, 240], [0.3, 246, 221, 152], [0.5, 234, 151, 55], [0.75, 178, 84, 14], [1, 92, 34, 3]]);
  /* So many nodes are shown cell by cell at once. */
  const FEW = 64;
  const LARGEST_CELL = 110;

  const $ = id => document.getElementById(id);
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  function ramp(stops) {
    const colours = [];
    for (let i = 0; i < 256; i++) {
      const at = i / 255;
      let k = 1;
      while (stops[k][0] < at) k++;
      const [x0, ...low] = stops[k - 1];
      const [x1, ...high] = stops[k];
      colours.push(low.map((value, c) => Math.round(value + (high[c] - value) * (at - x0) / (x1 - x0))));
    }
    return colours;
  }

  function digits(value) {
    if (value === null || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size === 0 || size >= 100) return value.toFixed(0);
    return value.toFixed(Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(size)))));
  }

  const shown = (metric, value) => value === null || Number.isNaN(value) ? "–" : digits(value / metric.per);
  const withUnit = (metric, value) => shown(metric, value) + (value === null || Number.isNaN(value) ? "" : " " + metric.unit);
  const rgb = colour => "rgb(" + colour.join(",") + ")";
  const isNumber = value => value !== null && !Number.isNaN(value);

  /* ---- lines of earlier runs ---- */

  const inks = () => {
    const style = getComputedStyle(root);
    return { text: style.getPropertyValue("--text").trim(), soft: style.getPropertyValue("--soft").trim(),
      line: style.getPropertyValue("--line").trim(), accent: style.getPropertyValue("--link").trim() };
  };

  /** Draws one chart: lines of values run by run, this run last. */
  function drawLines(chart, runs, lines) {
    const ink = inks();
    const last = runs.length - 1;
    const axis = { stroke: ink.soft, grid: { stroke: ink.line, width: 1 }, ticks: { stroke: ink.line, width: 1 } };
    const looks = [
      { stroke: ink.accent, width: 2, points: { show: true, size: 5 } },
      { stroke: ink.soft, width: 1.5, dash: [6, 4], points: { show: runs.length < 3, size: 4 } }
    ];
    chart.replaceChildren();
    new uPlot({
      width: Math.max(200, chart.clientWidth), height: 170,
      scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
      axes: [
        { ...axis, values: (u, splits) => splits.map(x => !Number.isInteger(x) ? "" : x === 0 ? "now" : "−" + -x) },
        { ...axis, size: 60, values: (u, splits) => splits.map(digits) }
      ],
      series: [
        { label: "run", value: (u, x) => x === null ? "–" : x === 0 ? "this run" : String(runs[x + last]) },
        ...lines.map((line, at) => ({ ...looks[at], label: line.label, value: (u, y) => y === null ? "–" : digits(y) }))
      ]
    }, [runs.map((name, run) => run - last), ...lines.map(line => line.values)], chart);
  }

  function drawHistory() {
    const holder = $("history-data");
    if (!holder) return;
    const history = JSON.parse(holder.textContent);
    document.querySelectorAll("#charts .chart").forEach((chart, at) =>
      drawLines(chart, history.runs, [{ label: "value", values: history.series[at] }]));
    const nights = JSON.parse($("nights-data").textContent);
    document.querySelectorAll("#nights .chart").forEach((chart, at) =>
      drawLines(chart, nights.runs, [
        { label: "culprit", values: nights.series[at].values },
        { label: "others", values: nights.series[at].others }
      ]));
  }

  /* ---- the map ---- */

  const order = JSON.parse($("map-order").textContent);
  const rails = [...document.querySelectorAll("script.map-data")].map(script => JSON.parse(script.textContent));
  const canvas = $("canvas");
  const colourScheme = matchMedia("(prefers-color-scheme: dark)");
  colourScheme.addEventListener("change", () => { drawHistory(); if (canvas) draw(); });

  if (!canvas) {
    drawHistory();
    root.dataset.ready = "true";
    return;
  }

  const packed = typeof DecompressionStream === "function";
  const context = canvas.getContext("2d");
  const now = { rail: 0, metric: 0, byShare: true, view: null, selected: null, marked: null };
  const earlierViews = [];
  /* The arrays come after this script in the page, so that the first picture does not wait for them. */
  const parsed = new Promise(resolve => document.addEventListener("DOMContentLoaded", resolve));
  let place = null;
  let printing = false;

  const rail = () => rails[now.rail];
  const metric = () => METRICS[now.metric];
  const summary = () => rail().metrics[metric().key];
  const isShare = () => now.byShare && now.metric === 0 && rail().lineRate !== null;

  /* Returns the bytes of an array that the page holds deflated; null if it does not hold it. */
  async function bytes(id) {
    const holder = $(id);
    if (holder === null) return null;
    const text = atob(holder.textContent);
    const deflated = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) deflated[i] = text.charCodeAt(i);
    const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /* Unpacks the cells of the rail, once, and keeps them with it. */
  function load() {
    const of = rail();
    if (!of.loading) of.loading = packed ? unpack(of, now.rail) : Promise.resolve();
    return of.loading;
  }

  async function unpack(of, which) {
    await parsed;
    const [state, lineRate, details, ...planes] = await Promise.all(
      ["STATE", "LINE_RATE", "DETAILS", ...METRICS.map(each => each.key)].map(name => bytes("array-" + which + "-" + name)));
    const values = planes.map((plane, m) => plane === null ? null : values16(plane, of.metrics[METRICS[m].key]));
    of.cells = { state, lineRate, values, details: JSON.parse(new TextDecoder().decode(details)) };
  }

  function values16(planes, its) {
    const count = planes.length / 2;
    const codes = new Uint16Array(count);
    let most = 0;
    for (let i = 0; i < count; i++) {
      codes[i] = planes[i] | planes[count + i] << 8;
      if (codes[i] > most) most = codes[i];
    }
    const table = new Float64Array(most + 1);
    table[0] = NaN;
    for (let code = 1; code <= most; code++) table[code] = its.least * Math.pow(1 + its.step, code - 1);
    if (its.zero) table[1] = 0;
    return { codes, table };
  }

  const value = (m, cell) => {
    const values = rail().cells.values[m];
    return values === null ? NaN : values.table[values.codes[cell]];
  };
  const lineRate = cell => {
    const which = rail().cells.lineRate[cell];
    return which === 0 ? null : rail().lineRates[which - 1];
  };

  /* Returns how bad a value is, from 0 to 1: half of the reference, or twice the latency, is about the middle. */
  function badness(value, reference) {
    const times = Math.log2(metric().higher ? reference / value : value / reference) / 2;
    const clamped = Math.min(1, Math.max(0, times));
    return metric().higher ? Math.pow(clamped, 0.6) : clamped;
  }

  function colour(value, rate) {
    const reference = isShare() ? (isNumber(rate) ? rate : rail().lineRate) : summary().median;
    if (!isNumber(value) || !isNumber(reference)) return null;
    return RAMP[Math.round(255 * badness(value, reference))];
  }

  const blockAt = (row, column) => {
    const [measured, failed, notMeasured, ...rest] = rail().blocks[row * rail().groups.length + column];
    const [median, worst, worstNode] = rest.slice(3 * now.metric, 3 * now.metric + 3);
    return { measured, failed, notMeasured, median, worst, worstNode };
  };

  const wholeMap = () => ({ blocks: false, row: 0, rowEnd: rail().nodes.length, column: 0, columnEnd: rail().nodes.length });
  const blocksView = () => ({ blocks: true, row: 0, rowEnd: rail().groups.length, column: 0, columnEnd: rail().groups.length });
  const hasBlocks = () => rail().nodes.length > FEW && rail().groups.length > 1;
  const groupOf = node => rail().groups.findIndex(group => node >= group.begin && node < group.end);

  function layOut() {
    const view = now.view;
    const rows = view.rowEnd - view.row;
    const columns = view.columnEnd - view.column;
    const width = $("frame").clientWidth;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const label = width < 480 ? 50 : 86;
    const strip = 12;
    const edge = label + strip + 5;
    const free = Math.max(60, width - edge - 4);
    const size = Math.max(1, Math.floor(Math.min(free * ratio / columns, free * ratio / rows, LARGEST_CELL * ratio)));
    /* Of more cells than pixels each still has one, and the browser shrinks the picture: no row is left out. */
    const scale = Math.max(ratio, Math.max(columns, rows) * size / free);
    place = { rows, columns, size, scale, edge: Math.round(edge * scale), label: label * scale, strip: strip * scale,
      css: size / scale };
    canvas.width = place.edge + columns * size + Math.ceil(2 * scale);
    canvas.height = place.edge + rows * size + Math.ceil(2 * scale);
    canvas.style.width = canvas.width / scale + "px";
    canvas.style.height = canvas.height / scale + "px";
  }

  function draw() {
    layOut();
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (now.view.blocks) drawBlocks(); else drawCells();
    drawEdges();
    drawMarks();
    drawLegend();
    if (!root.dataset.firstPicture && (now.view.blocks || rail().cells)) root.dataset.firstPicture = performance.now().toFixed(0);
  }

  function drawBlocks() {
    const { size, edge, scale } = place;
    const gap = size > 6 * scale ? Math.max(1, Math.round(scale)) : 0;
    for (let row = 0; row < place.rows; row++) {
      for (let column = 0; column < place.columns; column++) {
        const block = blockAt(row, column);
        const x = edge + column * size;
        const y = edge + row * size;
        const fill = colour(block.worst, rail().lineRate);
        if (fill) {
          context.fillStyle = rgb(fill);
          context.fillRect(x, y, size - gap, size - gap);
        } else if (block.failed > 0) {
          failedCell(context, x, y, size - gap);
        } else if (block.notMeasured > 0) {
          notMeasuredCell(context, x, y, size - gap);
        }
        if (fill && block.failed > 0) corner(context, x, y, size - gap, FAILED_COLOUR, false);
        if (fill && block.notMeasured > 0) corner(context, x, y, size - gap, NOT_MEASURED_COLOUR, true);
      }
    }
  }

  /* A triangle in a corner: some cells of the block are of that kind. */
  function corner(on, x, y, size, colour, lower) {
    const side = Math.max(3 * place.scale, size * 0.4);
    on.fillStyle = rgb(colour);
    on.strokeStyle = "#fff";
    on.lineWidth = place.scale * 0.75;
    on.beginPath();
    if (lower) {
      on.moveTo(x + size, y + size); on.lineTo(x + size - side, y + size); on.lineTo(x + size, y + size - side);
    } else {
      on.moveTo(x, y); on.lineTo(x + side, y); on.lineTo(x, y + side);
    }
    on.closePath();
    on.fill();
    on.stroke();
  }

  function failedCell(on, x, y, size) {
    on.fillStyle = rgb(FAILED_COLOUR);
    on.fillRect(x, y, size, size);
    if (size >= 7 * place.scale) {
      on.strokeStyle = "#fff";
      on.lineWidth = Math.max(1, place.scale * 1.3);
      const inset = size * 0.3;
      on.beginPath();
      on.moveTo(x + inset, y + inset); on.lineTo(x + size - inset, y + size - inset);
      on.moveTo(x + size - inset, y + inset); on.lineTo(x + inset, y + size - inset);
      on.stroke();
    }
  }

  function notMeasuredCell(on, x, y, size) {
    on.fillStyle = rgb(NOT_MEASURED_COLOUR);
    on.fillRect(x, y, size, size);
    if (size >= 7 * place.scale) {
      on.strokeStyle = "#fff";
      on.lineWidth = place.scale;
      on.beginPath();
      on.moveTo(x, y + size); on.lineTo(x + size, y);
      on.stroke();
    }
  }

  function drawCells() {
    const cells = rail().cells;
    const { rows, columns, size, edge, scale } = place;
    if (!cells) {
      context.fillStyle = inks().soft;
      context.font = 14 * scale + "px system-ui, sans-serif";
      context.textAlign = "left";
      context.fillText(packed ? "unpacking the cells …" : "this browser can't unpack the cells", edge, edge + 24 * scale);
      return;
    }
    const nodes = rail().nodes.length;
    const picture = new ImageData(columns, rows);
    const special = [];
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        const cell = (now.view.row + r) * nodes + now.view.column + c;
        const state = cells.state[cell];
        let fill = null;
        if (state >= FAILED) fill = FAILED_COLOUR;
        else if (state === NOT_MEASURED) fill = NOT_MEASURED_COLOUR;
        else if (state === 1) fill = colour(value(now.metric, cell), lineRate(cell)) || NOT_MEASURED_COLOUR;
        if (fill) {
          const at = 4 * (r * columns + c);
          picture.data[at] = fill[0]; picture.data[at + 1] = fill[1]; picture.data[at + 2] = fill[2]; picture.data[at + 3] = 255;
          if (size >= 7 * scale) special.push([r, c, state, cell, fill]);
        }
      }
    }
    if (size === 1) {
      context.putImageData(picture, edge, edge);
    } else {
      const small = document.createElement("canvas");
      small.width = columns;
      small.height = rows;
      small.getContext("2d").putImageData(picture, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, edge, edge, columns * size, rows * size);
    }
    const gap = size >= 7 * scale ? Math.max(1, Math.round(scale)) : 0;
    for (const [r, c, state, cell, fill] of special) {
      const x = edge + c * size;
      const y = edge + r * size;
      context.clearRect(x + size - gap, y, gap, size);
      context.clearRect(x, y + size - gap, size, gap);
      if (state >= FAILED) failedCell(context, x, y, size - gap);
      else if (state === NOT_MEASURED) notMeasuredCell(context, x, y, size - gap);
      else if (size >= 44 * scale) {
        context.fillStyle = 0.3 * fill[0] + 0.59 * fill[1] + 0.11 * fill[2] > 140 ? "#000" : "#fff";
        context.font = 12 * scale + "px system-ui, sans-serif";
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(shown(metric(), value(now.metric, cell)), x + size / 2, y + size / 2);
      }
    }
  }

  /* The rows and columns of the view: what is beside each, in the unit of an item. */
  function drawEdges() {
    const { size, edge, scale, strip, css } = place;
    const ink = printing ? { text: "#000", soft: "#333", line: "#999" } : inks();
    const groups = rail().groups;
    context.textBaseline = "middle";
    for (const isRow of [true, false]) {
      const begin = isRow ? now.view.row : now.view.column;
      const end = isRow ? now.view.rowEnd : now.view.columnEnd;
      const medians = isRow ? summary().rows : summary().columns;
      const lines = [];
      for (let item = begin; item < end; item++) {
        const from = edge + (item - begin) * size;
        if (now.view.blocks) {
          const group = groups[item];
          const each = size / (group.end - group.begin);
          for (let node = group.begin; node < group.end; node++) lines.push([medians[node], from + (node - group.begin) * each, each]);
        } else {
          lines.push([medians[item], from, size]);
        }
      }
      /* The worst is drawn last, and no line is thinner than a pixel: it stays to be seen. */
      lines.sort((a, b) => isNumber(a[0]) && isNumber(b[0]) ? (metric().higher ? b[0] - a[0] : a[0] - b[0]) : isNumber(a[0]) - isNumber(b[0]));
      for (const [median, from, length] of lines) {
        const fill = colour(median, rail().lineRate);
        if (fill) {
          context.fillStyle = rgb(fill);
          const long = Math.max(length, scale);
          if (isRow) context.fillRect(edge - strip - 3 * scale, from, strip, long);
          else context.fillRect(from, edge - strip - 3 * scale, long, strip);
        }
      }
      context.fillStyle = ink.text;
      context.font = 11 * scale + "px system-ui, sans-serif";
      const labels = [];
      if (css >= 11) {
        for (let item = begin; item < end; item++) {
          labels.push([now.view.blocks ? groups[item].name : rail().nodes[item], edge + (item - begin + 0.5) * size]);
        }
      } else {
        const named = now.view.blocks ? groups.map((group, at) => ({ name: group.name, begin: at, end: at + 1 })) : groups;
        let free = -Infinity;
        for (const group of named) {
          const first = Math.max(begin, group.begin);
          const last = Math.min(end, group.end);
          const middle = edge + ((first + last) / 2 - begin) * size;
          if (first < last && middle - free >= 12 * scale) {
            labels.push([group.name, middle]);
            free = middle;
          }
        }
      }
      for (const [text, at] of labels) label(text, at, isRow);
      if (!now.view.blocks && css < 11) {
        context.fillStyle = ink.text;
        context.globalAlpha = 0.35;
        for (const group of groups) {
          if (group.begin > begin && group.begin < end) {
            const at = edge + (group.begin - begin) * size;
            if (isRow) context.fillRect(edge, at, place.columns * size, Math.max(0.5, scale * 0.5));
            else context.fillRect(at, edge, Math.max(0.5, scale * 0.5), place.rows * size);
          }
        }
        context.globalAlpha = 1;
      }
    }
    context.fillStyle = ink.soft;
    context.font = 11 * scale + "px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText("to →", edge - strip - 8 * scale, 12 * scale);
    context.fillText("from ↓", edge - strip - 8 * scale, edge - strip - 10 * scale);
  }

  function label(text, at, isRow) {
    const room = place.label - 6 * place.scale;
    let short = text;
    while (short.length > 1 && context.measureText(short === text ? text : short + "…").width > room) short = short.slice(0, -1);
    if (short !== text) short += "…";
    const beside = place.edge - place.strip - 8 * place.scale;
    if (isRow) {
      context.textAlign = "right";
      context.fillText(short, beside, at);
    } else {
      context.save();
      context.translate(at, beside);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(short, 0, 0);
      context.restore();
    }
  }

  function outline(row, column, rowEnd, columnEnd, ink) {
    const { size, edge, scale } = place;
    const x = edge + (column - now.view.column) * size;
    const y = edge + (row - now.view.row) * size;
    const width = (columnEnd - column) * size;
    const height = (rowEnd - row) * size;
    context.lineWidth = 4 * scale;
    context.strokeStyle = "#fff";
    context.strokeRect(x - scale, y - scale, width + scale, height + scale);
    context.lineWidth = 2 * scale;
    context.strokeStyle = ink;
    context.strokeRect(x - scale, y - scale, width + scale, height + scale);
  }

  function drawMarks() {
    const view = now.view;
    if (now.marked && !view.blocks) {
      const { row, column } = now.marked;
      if (row !== null && row >= view.row && row < view.rowEnd) outline(row, view.column, row + 1, view.columnEnd, "#0b57a4");
      if (column !== null && column >= view.column && column < view.columnEnd) outline(view.row, column, view.rowEnd, column + 1, "#0b57a4");
    }
    if (now.selected) {
      const { row, column } = now.selected;
      if (row >= view.row && row < view.rowEnd && column >= view.column && column < view.columnEnd) {
        outline(row, column, row + 1, column + 1, "#000");
      }
    }
  }

  function drawLegend() {
    const legend = $("legend");
    legend.replaceChildren();
    const share = isShare();
    legend.append(element("div", metric().words + (share ? ", as a share of the line rate" : ", against the median of the rail, "
      + withUnit(metric(), summary().median))));
    const bar = element("canvas");
    bar.width = 256;
    bar.height = 1;
    const barContext = bar.getContext("2d");
    RAMP.forEach((fill, at) => { barContext.fillStyle = rgb(fill); barContext.fillRect(at, 0, 1, 1); });
    const ticks = element("div", undefined, "ticks");
    const marks = share ? [[1, "100 %"], [0.9, "90"], [0.7, "70"], [0.5, "50"], [0.25, "≤ 25 %"]]
      : metric().higher ? [[1, "median"], [0.75, "75 %"], [0.5, "50 %"], [0.25, "≤ 25 %"]]
        : [[1, "median"], [1.5, "1.5 ×"], [2, "2 ×"], [4, "≥ 4 ×"]];
    for (const [factor, words] of marks) {
      const tick = element("span", words);
      tick.style.left = 100 * badness(factor, 1) + "%";
      ticks.append(tick);
    }
    legend.append(bar, ticks);
    const key = (words, paint) => {
      const line = element("div", undefined, "key");
      const sample = element("canvas");
      sample.width = sample.height = Math.round(22 * place.scale);
      paint(sample.getContext("2d"), sample.width);
      line.append(sample, element("span", words));
      legend.append(line);
    };
    key("failed", (on, size) => failedCell(on, 0, 0, size));
    key("not measured", (on, size) => notMeasuredCell(on, 0, 0, size));
    if (now.view.blocks) {
      const some = (colour, lower) => (on, size) => {
        on.fillStyle = rgb(RAMP[0]);
        on.fillRect(0, 0, size, size);
        corner(on, 0, 0, size, colour, lower);
      };
      key("some pairs of the block failed", some(FAILED_COLOUR, false));
      key("some pairs of the block were not measured", some(NOT_MEASURED_COLOUR, true));
    }
  }

  /* ---- what is pointed at ---- */

  function itemAt(event) {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) * canvas.width / box.width - place.edge;
    const y = (event.clientY - box.top) * canvas.height / box.height - place.edge;
    const within = (at, count) => at >= 0 && at < count * place.size ? Math.floor(at / place.size) : null;
    const row = within(y, place.rows);
    const column = within(x, place.columns);
    return { row: row === null ? null : row + now.view.row, column: column === null ? null : column + now.view.column };
  }

  function tell(title, facts) {
    const readout = $("readout");
    const table = element("table");
    for (const [name, text, className] of facts) {
      if (text === null || text === "") continue;
      const line = table.insertRow();
      line.append(element("td", name), element("td", text, className));
    }
    readout.replaceChildren(element("h3", title), table);
  }

  const nodeName = node => rail().nodes[node] + (rail().leaves[node] === null ? "" : " (" + rail().leaves[node] + ")");

  function tellBlock(row, column) {
    const block = blockAt(row, column);
    const from = rail().groups[row];
    const to = rail().groups[column];
    const worstIsRow = block.worstNode >= from.begin && block.worstNode < from.end;
    tell("Block " + from.name + " → " + to.name, [
      ["median " + metric().words, withUnit(metric(), block.median)],
      ["worst row or column", block.worstNode < 0 ? "" : rail().nodes[block.worstNode]
        + (from === to ? "" : worstIsRow ? ", sending" : ", receiving") + ": " + withUnit(metric(), block.worst)],
      ["pairs measured", String(block.measured)],
      ["pairs failed", block.failed === 0 ? "" : String(block.failed), "failed-word"],
      ["pairs not measured", block.notMeasured === 0 ? "" : String(block.notMeasured), "not-measured-word"]
    ]);
  }

  function tellCell(row, column) {
    const cells = rail().cells;
    if (!cells) return;
    const cell = row * rail().nodes.length + column;
    const state = cells.state[cell];
    const title = rail().nodes[row] + " → " + rail().nodes[column];
    if (row === column || state === 0) {
      tell(title, [["", row === column ? "a node and itself: not a pair" : "nobody tried this pair"]]);
      return;
    }
    const rate = lineRate(cell);
    const facts = [["from", nodeName(row)], ["to", nodeName(column)], ["rail", rail().rail],
      ["outcome", state >= FAILED ? "failed" : state === NOT_MEASURED ? "not measured" : "measured",
        state >= FAILED ? "failed-word" : state === NOT_MEASURED ? "not-measured-word" : ""],
      ["cause", state > FAILED ? rail().causes[state - FAILED - 1] : ""]];
    METRICS.forEach((each, m) => {
      const is = value(m, cell);
      const share = m === 0 && isNumber(is) && rate !== null ? " (" + (100 * is / rate).toFixed(0) + " % of the line rate)" : "";
      if (isNumber(is)) facts.push([each.words, withUnit(each, is) + share]);
    });
    facts.push(["besides", cells.details[cell] || ""]);
    tell(title, facts);
  }

  function tellNode(node, sends) {
    const facts = [["leaf", rail().leaves[node]], ["rail", rail().rail]];
    METRICS.forEach(each => {
      const its = rail().metrics[each.key];
      const median = (sends ? its.rows : its.columns)[node];
      if (isNumber(median)) facts.push(["median " + each.words, withUnit(each, median)]);
    });
    tell(rail().nodes[node] + (sends ? ", sending" : ", receiving"), facts);
  }

  function tellItem(item) {
    if (item.row !== null && item.column !== null) {
      if (now.view.blocks) tellBlock(item.row, item.column); else tellCell(item.row, item.column);
    } else if (!now.view.blocks && item.row !== null) {
      tellNode(item.row, true);
    } else if (!now.view.blocks && item.column !== null) {
      tellNode(item.column, false);
    }
  }

  /* ---- going through it ---- */

  function help() {
    const back = earlierViews.length > 0 ? " Escape goes back." : "";
    $("help").textContent = (now.view.blocks
      ? "A square is a block: all pairs from the nodes of one leaf to those of another. It has the colour of its worst row or column."
        + " Click it, or choose it with the arrow keys and press Enter, to see its pairs."
      : "A row is a sender, a column a receiver. Point at a pair, or choose it with the arrow keys, to see all of it."
        + (zoomable() ? " Click or Enter shows its block." : "") + back)
      + " The bars beside the map are the medians of rows and columns.";
    $("blocks").disabled = !hasBlocks() || now.view.blocks;
    $("blocks").hidden = $("cells").hidden = !hasBlocks();
    $("cells").disabled = isWhole();
    $("back").hidden = !hasBlocks();
    $("back").disabled = earlierViews.length === 0;
    canvas.setAttribute("aria-label", "Heat map of the " + metric().words + " between nodes of " + rail().rail);
  }

  const isWhole = () => !now.view.blocks && now.view.rowEnd - now.view.row === rail().nodes.length
    && now.view.columnEnd - now.view.column === rail().nodes.length;
  const zoomable = () => now.view.blocks || hasBlocks() && isWhole();

  function show(view, keepsEarlier) {
    if (keepsEarlier && now.view) earlierViews.push(now.view);
    now.view = view;
    now.selected = null;
    help();
    draw();
    if (!view.blocks && !rail().cells) return load().then(() => { if (now.view === view) draw(); });
    return Promise.resolve();
  }

  function zoom(item) {
    if (!zoomable() || item.row === null || item.column === null) return Promise.resolve();
    const from = rail().groups[now.view.blocks ? item.row : groupOf(item.row)];
    const to = rail().groups[now.view.blocks ? item.column : groupOf(item.column)];
    return show({ blocks: false, row: from.begin, rowEnd: from.end, column: to.begin, columnEnd: to.end }, true);
  }

  function back() {
    const view = earlierViews.pop();
    if (view) show(view, false);
  }

  function firstView() {
    earlierViews.length = 0;
    $("readout").replaceChildren(element("p", "Point at the map to see a pair here.", "note"));
    return show(hasBlocks() ? blocksView() : wholeMap(), false);
  }

  canvas.addEventListener("pointermove", event => {
    const item = itemAt(event);
    canvas.style.cursor = item.row !== null && item.column !== null && zoomable() ? "zoom-in" : "crosshair";
    tellItem(item);
  });
  canvas.addEventListener("click", event => {
    const item = itemAt(event);
    if (zoomable()) {
      zoom(item);
    } else if (item.row !== null && item.column !== null) {
      now.selected = item;
      draw();
    }
    tellItem(item);
  });
  canvas.addEventListener("keydown", event => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Escape") {
      back();
    } else if (event.key === "Enter" || event.key === " ") {
      if (now.selected) zoom(now.selected);
    } else if (steps[event.key]) {
      const at = now.selected || { row: now.view.row, column: now.view.column };
      const [down, right] = now.selected ? steps[event.key] : [0, 0];
      now.selected = {
        row: Math.min(now.view.rowEnd - 1, Math.max(now.view.row, at.row + down)),
        column: Math.min(now.view.columnEnd - 1, Math.max(now.view.column, at.column + right))
      };
      draw();
      tellItem(now.selected);
    } else {
      return;
    }
    event.preventDefault();
  });

  /* ---- the choices above it ---- */

  function choices() {
    rails.forEach((each, at) => $("rail").append(new Option(each.rail, String(at))));
    $("rail").addEventListener("change", event => { choose(Number(event.target.value), now.metric); });
    METRICS.forEach((each, m) => {
      const label = element("label");
      const radio = element("input");
      radio.type = "radio";
      radio.name = "metric";
      radio.value = String(m);
      radio.id = "metric-" + m;
      radio.addEventListener("change", () => choose(now.rail, m));
      label.append(radio, " " + each.words);
      $("metrics").append(label);
    });
    $("scale").append(new Option("share of the line rate", "share"), new Option("against the median", "median"));
    $("scale").addEventListener("change", event => { now.byShare = event.target.value === "share"; draw(); });
    $("blocks").addEventListener("click", () => firstView());
    $("cells").addEventListener("click", () => show(wholeMap(), true));
    $("back").addEventListener("click", back);
    document.querySelectorAll("button.show").forEach(button => button.addEventListener("click", () => showCulprit(button.dataset)));
  }

  const isThere = (of, m) => of.metrics[METRICS[m].key].median !== null;

  /* Shows another rail, or another metric of the same part of the map. */
  function choose(which, m) {
    const sameRail = which === now.rail && now.view !== null;
    now.rail = which;
    now.metric = isThere(rail(), m) ? m : Math.max(0, METRICS.findIndex((each, other) => isThere(rail(), other)));
    $("rail").value = String(now.rail);
    METRICS.forEach((each, other) => {
      $("metric-" + other).disabled = !isThere(rail(), other);
      $("metric-" + other).checked = other === now.metric;
    });
    const hasShare = now.metric === 0 && rail().lineRate !== null;
    $("scale").options[0].disabled = !hasShare;
    $("scale").value = hasShare && now.byShare ? "share" : "median";
    if (!sameRail) {
      now.marked = null;
      return firstView();
    }
    help();
    draw();
    return Promise.resolve();
  }

  async function showCulprit(where) {
    const which = where.rail === "" ? rails.findIndex(each => each.nodes.includes(where.from || where.to))
      : rails.findIndex(each => each.rail === where.rail);
    if (which < 0) return;
    const m = METRICS.findIndex(each => each.member === where.metric);
    now.view = null;
    choose(which, m < 0 ? now.metric : m);
    const find = name => name === "" ? null : rail().nodes.indexOf(name);
    if (where.place === "leaves") {
      const group = name => rail().groups.findIndex(each => each.name === name);
      const [from, to] = [group(where.from), group(where.to)];
      if (from < 0 || to < 0) return;
      const [rows, columns] = [rail().groups[from], rail().groups[to]];
      await show({ blocks: false, row: rows.begin, rowEnd: rows.end, column: columns.begin, columnEnd: columns.end }, hasBlocks());
    } else if (where.place === "cell") {
      const [row, column] = [find(where.from), find(where.to)];
      if (hasBlocks()) {
        await zoom({ row: groupOf(row), column: groupOf(column) });
      }
      await load();
      now.selected = { row, column };
      draw();
      tellCell(row, column);
    } else {
      now.marked = { row: find(where.from), column: find(where.to) };
      if (!isWhole()) await show(wholeMap(), true); else draw();
      tellNode(now.marked.row !== null ? now.marked.row : now.marked.column, now.marked.row !== null);
    }
    canvas.scrollIntoView({ block: "center" });
    canvas.focus({ preventScroll: true });
  }

  function allNodes() {
    const body = document.querySelector("#node-table tbody");
    const rows = order.slice(body.rows.length).map(([which, node, failedOut, failedIn]) => {
      const of = rails[which];
      const line = element("tr");
      const name = element("th", of.nodes[node]);
      name.scope = "row";
      line.append(name, element("td", of.leaves[node] || ""), element("td", of.rail));
      METRICS.forEach(each => {
        const its = of.metrics[each.key];
        line.append(element("td", shown(each, its.rows[node]), "number"), element("td", shown(each, its.columns[node]), "number"));
      });
      line.append(element("td", failedOut, "number bad-word"), element("td", failedIn, "number bad-word"));
      return line;
    });
    body.append(...rows);
    $("all-nodes").remove();
  }

  choices();
  choose(0, 0);
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => { printing = false; draw(); });
  parsed.then(async () => {
    drawHistory();
    if ($("all-nodes")) $("all-nodes").addEventListener("click", allNodes);
    let width = $("frame").clientWidth;
    new ResizeObserver(() => {
      if ($("frame").clientWidth !== width) {
        width = $("frame").clientWidth;
        draw();
      }
    }).observe($("frame"));
    await load();
    if (!now.view.blocks) draw();
    root.dataset.ready = "true";
  });
})();
