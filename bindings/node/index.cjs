// Records what a program asks of the network, and answers it from the recording: the proxy of the program `metroon`, started
// and stopped from JavaScript.
'use strict';

const { spawn } = require('node:child_process');
const diagnostics = require('node:diagnostics_channel');
const { once } = require('node:events');
const readline = require('node:readline');

// Connections that `fetch` and `undici` hold. Agents of `http` and `https` know by themselves which of theirs they may use.
const held = new Set();
diagnostics.channel('undici:client:connected').subscribe(({ socket }) => {
  held.add(socket);
  socket.once('close', () => held.delete(socket));
});

// What was connected directly, or through an earlier proxy, is not used again.
function drop() {
  for (const socket of held) socket.destroy();
}

/**
 * Starts a proxy for a cassette. From then on requests of this process go through it, and so do those of programs that it starts.
 * One at a time: stop it before the next is started.
 */
async function startMetroon({ cassette, mode, options = [], allowEmpty = false, command = process.env.METROON || 'metroon' }) {
  const chosen = mode ?? (process.env.CI ? 'none' : 'once');
  const words = ['record', '-o', cassette, '--mode', chosen, '--ready-json', ...(allowEmpty ? ['--allow-empty'] : []), ...options];
  // What it advises is what a user of this helper can write.
  const env = { ...process.env, METROON_HELP_STYLE: 'node' };
  const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'], env });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
  const ended = once(child, 'close');
  ended.catch(() => {});
  let counted;
  const lines = readline.createInterface({ input: child.stdout });
  lines.on('line', (line) => { counted = JSON.parse(line); });
  const ready = await Promise.race([
    once(lines, 'line').then(([line]) => JSON.parse(line)),
    ended.then(([code]) => { throw new Error(`metroon did not start (exit code ${code}):\n${said}`); }, (error) => {
      throw error.code === 'ENOENT' ? new Error(`there is no program ${command}: put metroon on PATH, or name it in METROON`) : error;
    }),
  ]);
  // The proxy does not keep this process alive: when it ends, its end of the pipe closes, and the proxy ends as well.
  const handles = [child, child.stdin, child.stdout, child.stderr];
  handles.forEach((handle) => handle.unref());
  const before = Object.fromEntries(Object.keys(ready.env).map((name) => [name, process.env[name]]));
  // It notes what the environment was when it is loaded, so it comes first.
  require(ready.env.METROON_NODE);
  Object.assign(process.env, ready.env);
  drop();

  async function stop() {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    handles.forEach((handle) => handle.ref());
    child.stdin.end();
    const [code] = await ended;
    drop();
    if (code !== 0) throw new Error(said.trim());
    if (!allowEmpty && chosen !== 'passthrough' && counted.requests === 0) throw new Error(nothing(cassette, counted));
    return said.trim();
  }

  return { proxy: ready.proxy, ca: ready.ca, bundle: ready.bundle, env: ready.env, stop };
}

function nothing(cassette, { connections }) {
  return connections > 0
    ? 'metroon: a client connected to the proxy and asked nothing, most likely since it does not trust the proxy\'s certificate\n'
      + 'help: have it trust the file that the member `ca` names'
    : `metroon: the proxy saw no request, so nothing is in ${cassette} for it\n`
      + 'help: if one was made, its client goes past the proxy: tell it of the members `proxy` and `ca`; if none is to be made, '
      + '`allowEmpty: true` says so';
}

module.exports = { startMetroon };
