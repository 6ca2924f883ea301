// The threads' states over time.
export async function show() {}
