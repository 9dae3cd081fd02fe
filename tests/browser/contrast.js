// Returns the texts whose contrast is below 4.5:1 (WCAG 2.2, 1.4.3), whatever lies above them: axe-core passes over those.
const parts = (color) => {
  const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return /^rgba?\(/.test(color) ? [r, g, b, a] : [0, 0, 0, 0];
};
const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
const light = (color) => {
  const [r, g, b] = color.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (one, other) => {
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};
const lineage = (element) => (element ? [...lineage(element.parentElement), element] : []);
const ground = (element) =>
  lineage(element).reduce((below, one) => over(parts(getComputedStyle(one).backgroundColor), below), [255, 255, 255]);
const opacity = (element) => lineage(element).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);

const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const seen = walker.currentNode.data.trim() && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  if (!seen || element.closest("script, style, title")) continue;
  const { color, fill } = getComputedStyle(element);
  const [r, g, b, a] = parts(element.closest("svg") ? fill : color);
  const below = ground(element);
  const contrast = ratio(over([r, g, b, a * opacity(element)], below), below);
  if (contrast < 4.5) found.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${contrast.toFixed(2)} (${element.tagName})`);
}
return found;
