// Pictures of time: lanes of devices on a canvas. A picture keeps what it has drawn where, so that a click finds it.

const kLaneHeight = 22, kLaneGap = 4, kLaneLeft = 84, kAxisHeight = 20;

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
  }
  // lanes: names of the rows. from, to: microseconds at the left and the right edge.
  begin(lanes, from, to) {
    const height = lanes.length * (kLaneHeight + kLaneGap) + kAxisHeight, width = this.canvas.clientWidth || 300;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = height + 'px';
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    Object.assign(this, {lanes, from, to, width, height});
    this.context.scale(ratio, ratio);
    this.context.clearRect(0, 0, width, height);
    this.context.font = '12px system-ui, sans-serif';
    this.context.fillStyle = colour('ink');
    lanes.forEach((name, i) => this.context.fillText(name, 4, this.top(i) + 15, kLaneLeft - 8));
    this.axis();
  }
  top(lane) { return 2 + lane * (kLaneHeight + kLaneGap); }
  x(at) { return kLaneLeft + (at - this.from) / (this.to - this.from) * (this.width - kLaneLeft - 4); }
  timeAt(x) { return this.from + (x - kLaneLeft) / (this.width - kLaneLeft - 4) * (this.to - this.from); }
  bar(lane, begin, length, kind, isThin) {
    const left = Math.max(this.x(begin), kLaneLeft), right = Math.min(this.x(begin + length), this.width - 4);
    if (right < left) return;
    this.context.fillStyle = colour(kind);
    const height = isThin ? 5 : kLaneHeight - 4;
    this.context.fillRect(left, this.top(lane) + (kLaneHeight - height) / 2, Math.max(right - left, 0.6), height);
  }
  frame(begin, length) {
    const left = Math.max(this.x(begin), kLaneLeft), right = Math.min(this.x(begin + length), this.width - 4);
    if (right < left) return;
    this.context.strokeStyle = colour('accent');
    this.context.lineWidth = 2;
    this.context.strokeRect(left - 2, 1, right - left + 4, this.height - kAxisHeight);
  }
  axis() {
    const span = this.to - this.from, rough = span / 5, power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    this.context.fillStyle = colour('quiet');
    for (let at = 0; at <= span; at += tick) {
      const words = at === 0 ? '0' : +(at / 1000).toPrecision(3) + ' ms', x = this.x(this.from + at);
      if (x + this.context.measureText(words).width <= this.width) this.context.fillText(words, x, this.height - 5);
    }
  }
}

const kindOf = (kind) => ['matmul', 'attention', 'wait'].includes(kind) ? kind : 'other';

function drawSteps(picture, lanes, steps, length) {
  picture.begin(lanes, 0, Math.max(length, 1));
  for (const [lane, kind, , begin, took] of steps) picture.bar(lane, begin, took, kindOf(kind), kind === 'wait');
}
