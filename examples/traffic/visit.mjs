// Asks twice at once, with nothing but what Node has: `metroon record -o visit.cassette -- node examples/traffic/visit.mjs`.
const visit = async (agent) => {
  const answer = await fetch('https://example.com/', { headers: { 'user-agent': agent } });
  return `${agent} got ${answer.status} ${(await answer.arrayBuffer()).byteLength} bytes`;
};
const said = await Promise.all(['a frog', 'a toad'].map(visit));
said.forEach((line) => console.log(line));
