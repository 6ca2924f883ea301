// Who is logged in. The session is kept for this tab alone, and sent in a header: a cookie would go to every port of this host, and so to
// the one that listens there. What a new tab knows of it, it learns from another tab of this very address.
const KEY = "whyslow.session";
const PATIENCE = 200; // ms for another tab to answer
const listeners = [], arrivals = [];
const tabs = new BroadcastChannel(KEY);

const kept = () => sessionStorage.getItem(KEY);
const keep = (session) => (session ? sessionStorage.setItem(KEY, session) : sessionStorage.removeItem(KEY));

tabs.addEventListener("message", (e) => {
	if (e.data === "who?" && kept()) tabs.postMessage({ session: kept() });
	if (e.data === "out" && kept()) end("You are logged out.", false);
	if (!e.data.session || kept()) return;
	keep(e.data.session);
	for (const arrival of arrivals) arrival();
});

export const headers = () => (kept() ? { Authorization: `Bearer ${kept()}` } : {});
export const onEnd = (listener) => listeners.push(listener);
export const onArrival = (listener) => arrivals.push(listener); // another tab reported the session

// The session is over: `why` says so to the person.
export function end(why, everywhere = true) {
	keep(null);
	if (everywhere) tabs.postMessage("out");
	for (const listener of listeners) listener(why);
}

async function post(path, body) {
	const response = await fetch(path, { method: "POST", headers: { ...headers(), "Content-Type": "text/plain" }, body });
	const answer = await response.json().catch(() => ({}));
	if (!response.ok) throw new Error(answer.error || `the server says ${response.status}`);
	return answer;
}

// With a login code or a token; throws in words.
export async function logIn(kind, text) {
	keep((await post("/login", `${kind}=${text}`)).session);
}

export async function logOut() {
	await post("/logout", "").catch(() => null); // it ends here even if the server is gone
	end("You are logged out.");
}

// Asks the other tabs; waits a moment for one. An answer that comes later still lets in.
const fromAnotherTab = () => new Promise((resolve) => {
	arrivals.push(resolve);
	setTimeout(resolve, PATIENCE);
	tabs.postMessage("who?");
});

// The login code out of the address, so that it stands neither there nor in the browser's history.
function takeCode() {
	const hash = new URLSearchParams(location.hash.slice(1)), code = hash.get("login");
	if (code === null) return null;
	hash.delete("login");
	history.replaceState(null, "", `#${hash}`);
	return code;
}

// Why the session was over, for the page when it is reloaded.
const WHY = "whyslow.why";
export const remember = (why) => sessionStorage.setItem(WHY, why);
function remembered() {
	const why = sessionStorage.getItem(WHY);
	sessionStorage.removeItem(WHY);
	return why;
}

// Resolves to null when someone is logged in, or to what the page says instead.
export async function begin() {
	const code = takeCode();
	try {
		if (code) await logIn("code", code);
		else if (!kept()) await fromAnotherTab();
	} catch (e) {
		if (!kept()) return `Login failed: ${e.message}.`;
	}
	return kept() ? null : remembered() ?? "You are not logged in.";
}
