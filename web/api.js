// The HTTP interface (/api/v1/openapi.json). Errors come in words.
async function read(response) {
	const body = await response.json().catch(() => ({}));
	if (!response.ok) throw new Error(body.error || `the server says ${response.status}`);
	return body;
}

export async function ask(path, parameters = {}) {
	const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== undefined && v !== ""));
	return read(await fetch(`/api/v1/${path}?${query}`));
}

export async function tell(path, body) {
	return read(await fetch(`/api/v1/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

export const press = (note) => tell("marks", note ? { note } : {});

// Boards and marks as they come; begins anew when the recorder was restarted. Returns a function that ends it.
// `ended`: there is nothing new to be had now, and why; it is asked for again by itself.
export function follow(window, { board, mark, ended, lost }) {
	const events = new EventSource(`/api/v1/events?window=${encodeURIComponent(window)}`);
	events.addEventListener("board", (e) => board(JSON.parse(e.data)));
	events.addEventListener("mark", (e) => mark(JSON.parse(e.data)));
	events.addEventListener("ended", (e) => ended(JSON.parse(e.data)));
	events.addEventListener("error", lost);
	return () => events.close();
}
