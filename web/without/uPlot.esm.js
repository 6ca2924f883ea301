// Stands in for uPlot in a build without it (web/fetch): the page works, and a chart's place says how to get charts.
export const without = "This build has no charts. To add them, run 'make charts' in whyslow's source folder and restart 'whyslow serve'.";

export default class {
	constructor(options, data, holder) {
		const part = (name) => holder.appendChild(document.createElement(name));
		Object.assign(this, { data, root: holder, over: part("p"), scales: { x: { min: data[0][0], max: data[0].at(-1) } }, cursor: { left: -1 } });
		this.over.className = "hint";
		this.over.textContent = without;
		part("canvas").hidden = true;
	}
	destroy() {}
	posToVal() { return this.scales.x.min; }
	setScale() {}
	setLegend() {}
}
