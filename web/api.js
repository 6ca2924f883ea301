// The HTTP interface (/api/v1/openapi.json). Errors come in words.
import { end, headers } from "./session.js";

async function refused(response) {
	const body = await response.json().catch(() => ({}));
	if (response.status === 401) end("Your session has expired.", false);
	return new Error(body.error || `the server says ${response.status}`);
}

async function read(response) {
	if (!response.ok) throw await refused(response);
	return response.json().catch(() => ({}));
}

// The server was not reached at all.
export class Away extends Error {
	constructor() {
		super("whyslow serve does not answer: has it ended? This page continues when it is back");
	}
}

const reach = (address, options = {}) => fetch(address, { ...options, headers: { ...options.headers, ...headers() } }).catch(() => { throw new Away(); });

export async function ask(path, parameters = {}) {
	const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== undefined && v !== ""));
	return read(await reach(`/api/v1/${path}?${query}`));
}

// A page of the interface, as a file to save.
export async function save(path, parameters, name) {
	const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== undefined && v !== ""));
	const response = await reach(`/api/v1/${path}?${query}`);
	if (!response.ok) throw await refused(response);
	const link = document.createElement("a");
	link.href = URL.createObjectURL(await response.blob());
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export async function tell(path, body) {
	return read(await reach(`/api/v1/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

export const press = (note) => tell("marks", note ? { note } : {});

export const RETRY = 2000; // ms

// Server-sent events of a response, as they come: `on` has a function for each name. Ends when the response does.
async function readEvents(response, on) {
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (let part = await reader.read(); !part.done; part = await reader.read()) {
		const events = (rest + part.value).split("\n\n");
		rest = events.pop();
		for (const event of events) {
			const name = /^event: (.*)$/m.exec(event)?.[1];
			const data = [...event.matchAll(/^data: (.*)$/gm)].map((m) => m[1]).join("\n");
			if (name) on[name]?.(JSON.parse(data));
		}
	}
}

// Boards and marks as they come; begins again when the recorder was restarted. Returns a function that ends it. An EventSource cannot send
// the session's header.
// `ended`: there is nothing new available now, and why; it is asked for again by itself. `lost(words)`: nothing comes at all; `found`:
// it does (again).
export function follow(window, model, { board, mark, ended, lost, found }) {
	const stop = new AbortController();
	let timer = null;
	const open = async () => {
		let again = true;
		try {
			const response = await reach(`/api/v1/events?window=${encodeURIComponent(window)}${model ? `&model=${encodeURIComponent(model)}` : ""}`, { signal: stop.signal });
			again = response.status !== 401;
			if (!response.ok) throw await refused(response);
			found();
			await readEvents(response, { board, mark, ended });
		} catch (e) {
			if (stop.signal.aborted || !again) return;
			lost((e instanceof TypeError ? new Away() : e).message);
		}
		timer = setTimeout(open, RETRY);
	};
	open();
	return () => {
		stop.abort();
		clearTimeout(timer);
	};
}
