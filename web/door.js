// What is shown while no one is logged in.
import { logIn } from "./session.js";

const get = (id) => document.getElementById(id);

export function showDoor(why, entered) {
	const door = get("door");
	get("door-why").textContent = why;
	get("door-said").textContent = "";
	get("door-form").onsubmit = async (e) => {
		e.preventDefault();
		try {
			await logIn("token", get("door-token").value.trim());
		} catch (error) {
			get("door-said").textContent = `Login failed: ${error.message}.`;
			return;
		}
		get("door-token").value = "";
		door.close();
		entered();
	};
	door.oncancel = (e) => e.preventDefault(); // there is nothing behind it
	if (!door.open) door.showModal();
}

export function closeDoor() {
	if (get("door").open) get("door").close();
}
