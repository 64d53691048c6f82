// Asks for documents by several workers at once, each for the next one, and prints what it is answered as it comes.
const base = 'https://api.metroon.test';
// How many milliseconds the answer to each document takes: no two come together, and the first three come last.
const documents = [2600, 2300, 2000, 100, 50, 20, 100, 40, 110, 20, 20, 20, 60, 20, 60, 80];
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
