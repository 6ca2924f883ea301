// The HTTP interface (/api/v1/openapi.json). Errors come in words.
async function read(response) {
	const body = await response.json().catch(() => ({}));
	if (!response.ok) throw new Error(body.error || `the server says ${response.status}`);
	return body;
}

const AWAY = "whyslow serve does not answer: has it ended? This page goes on by itself when it is back";
const reach = (address, options) => fetch(address, options).catch(() => { throw new Error(AWAY); });

export async function ask(path, parameters = {}) {
	const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== undefined && v !== ""));
	return read(await reach(`/api/v1/${path}?${query}`));
}

export async function tell(path, body) {
	return read(await reach(`/api/v1/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

export const press = (note) => tell("marks", note ? { note } : {});

const RETRY = 2000; // ms

// Boards and marks as they come; begins anew when the recorder was restarted. Returns a function that ends it.
// `ended`: there is nothing new to be had now, and why; it is asked for again by itself. `lost(words)`: nothing comes at all; `found`:
// it does (again).
export function follow(window, { board, mark, ended, lost, found }) {
	let events = null, timer = null;
	const open = () => {
		events = new EventSource(`/api/v1/events?window=${encodeURIComponent(window)}`);
		events.addEventListener("board", (e) => board(JSON.parse(e.data)));
		events.addEventListener("mark", (e) => mark(JSON.parse(e.data)));
		events.addEventListener("ended", (e) => ended(JSON.parse(e.data)));
		events.addEventListener("open", found);
		events.addEventListener("error", () => {
			if (events.readyState !== EventSource.CLOSED) return lost(AWAY); // the browser tries again
			timer = setTimeout(open, RETRY); // it was refused: it may not be for ever
			ask("marks").catch((e) => lost(e.message));
		});
	};
	open();
	return () => {
		clearTimeout(timer);
		events.close();
	};
}
