// Turns the one-time code in the address into a session, and takes the code out of the address.

const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

async function logIn() {
  const said = document.getElementById("said");
  try {
    const answer = await fetch("/ui/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Longshore-UI": "1" },
      body: JSON.stringify({ code }),
    });
    if (answer.ok) {
      location.replace("/ui/");
      return;
    }
    const status = await answer.json();
    said.textContent = code ? status.message : "A login link ends with a code. Get one with: longshore ui";
  } catch {
    said.textContent = "longshore cannot be reached. Is it running?";
  }
}

logIn();
