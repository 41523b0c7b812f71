// What tests of the page share: claims, and where things are on it.

export const figures = []; // lines that are printed at the end
// How many times later than promised a busy machine may be; NOD_LATE=1 takes the promised times by the word.
export const within = (ms) => ms * Number(process.env.NOD_LATE ?? 8);

export function must(truth, words) { if (!truth) throw new Error(words); }
export function same(found, wanted, words) { must(JSON.stringify(found) === JSON.stringify(wanted), `${words}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`); }
export const face = (page, text) => page.locator(".item .face", { hasText: text });
export const count = (page, n) => page.locator(".list-head p", { hasText: new RegExp(`^${n} waiting`) }).waitFor();
export const heading = (page, text) => page.locator(".request h1", { hasText: text }).waitFor();

export async function poll(ask, good) {
  for (const end = Date.now() + 180000; Date.now() < end;) {
    const found = await ask();
    if (good(found)) return found;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`it never came; the last was ${JSON.stringify(await ask()).slice(0, 300)}`);
}
