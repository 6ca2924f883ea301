// The address has all that the page shows: view, at, window, pid, feature, more (pid:feature,...), why (a pid), filter; what panes share
// (selection.js): from, to, mark, tid.
const listeners = [];
let quiet = false, walked = null, told = null;

export function state() {
	return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// null takes a key out. `replace`: no new entry in the browser's history. `walk` names steps of one walk (arrows through a list, back
// in time): the whole walk is one entry, so that the browser's way back leads to where it began.
export function setState(patch, replace = false, walk = null) {
	const now = new URLSearchParams(location.hash.slice(1));
	for (const [key, value] of Object.entries(patch)) {
		if (value === null || value === undefined || value === "") now.delete(key);
		else now.set(key, value);
	}
	const hash = `#${now}`;
	if (hash === location.hash) return;
	if (replace || (walk && walk === walked)) history.replaceState(null, "", hash);
	else history.pushState(null, "", hash);
	if (!replace) walked = walk;
	tell();
}

export function onState(listener) {
	listeners.push(listener);
}

// A step back is reported as popstate and as hashchange: it is one change.
function tell() {
	if (quiet || location.hash === told) return;
	quiet = true;
	queueMicrotask(() => {
		quiet = false;
		told = location.hash;
		for (const listener of listeners) listener(state());
	});
}
addEventListener("popstate", () => {
	walked = null;
	tell();
});
addEventListener("hashchange", tell);
