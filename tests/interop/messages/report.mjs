// Lines of a runner: one for each check, and one at the end that counts them.
export class Report {
  constructor(name) {
    Object.assign(this, { name, passed: 0, failed: 0 });
  }
  check(what, isRight, found = "") {
    if (isRight) this.passed++;
    else this.failed++;
    const shown = isRight ? "" : `: ${JSON.stringify(found)}`.slice(0, 2000);
    console.log(`${isRight ? "ok      " : "FAILED  "}${this.name}: ${what}${shown}`);
  }
  // A check that throws has failed.
  async run(what, check) {
    try {
      await check();
    } catch (error) {
      this.check(what, false, String(error?.stack ?? error));
    }
  }
  close() {
    console.log(`${this.name}: ${this.passed} passed, ${this.failed} failed`);
    return this.failed > 0 ? 1 : 0;
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until `done` gives something; the last it gave, after 30 s.
export async function until(done) {
  let found;
  for (const end = Date.now() + 30_000; Date.now() < end; await pause(50)) if ((found = await done())) return found;
  return found;
}

// Publishes numbers while nginx reloads, each over a connection of its own: none is closed by the reload.
export async function publishWhileReloading(base, topic, master, count) {
  const { request } = await import("node:http");
  const publish = (text) =>
    new Promise((resolve, reject) => {
      const options = { method: "POST", agent: false, headers: { "user-agent": "interop" } };
      const sent = request(`${base}/live/${topic}`, options, (response) => {
        response.resume();
        response.on("end", () => (response.statusCode == 200 ? resolve() : reject(Error(`${response.statusCode}`))));
      });
      sent.on("error", reject);
      sent.end(text);
    });
  for (let n = 0; n < count; n++) {
    if (n == count / 4 || n == count / 2) process.kill(master, "SIGHUP");
    await publish(String(n));
    await pause(20);
  }
}
