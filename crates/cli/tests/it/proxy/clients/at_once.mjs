// Asks for documents by several workers at once, each for the next one, and prints what it is answered as it comes.
const base = 'https://api.metroon.test';
// How many milliseconds the answer to each document takes: no two come together.
const documents = [260, 60, 340, 120, 40, 220, 100, 300, 180, 80, 240, 140, 20, 200, 160, 280];
let [next, ended] = [0, 0];

async function work() {
  while (next < documents.length) {
    const number = next++;
    const answer = await fetch(`${base}/slow?ms=${documents[number]}&document=${number % 6}`);
    console.log('line', number, await answer.text());
  }
  await (await fetch(`${base}/status/404?worker=${ended++}`)).text();
}

await Promise.all(Array.from({ length: 5 }, work));
