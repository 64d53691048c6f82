// Records what a program asks of the network, and answers it from the recording: the proxy of the program `mnemon`, started
// and stopped from JavaScript.
'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const readline = require('node:readline');

/**
 * Starts a proxy for a tape. From then on requests of this process go through it, and so do those of programs that it starts.
 * One at a time: stop it before the next is started.
 */
async function startMnemon({ tape, mode, options = [], command = process.env.MNEMON || 'mnemon' }) {
  const chosen = mode ?? (process.env.CI ? 'none' : 'once');
  const words = ['record', '-o', tape, '--mode', chosen, '--ready-json', ...options];
  const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
  const ended = once(child, 'close');
  ended.catch(() => {});
  const lines = readline.createInterface({ input: child.stdout });
  const ready = await Promise.race([
    once(lines, 'line').then(([line]) => JSON.parse(line)),
    ended.then(([code]) => { throw new Error(`mnemon did not start (exit code ${code}):\n${said}`); }, (error) => {
      throw error.code === 'ENOENT' ? new Error(`there is no program ${command}: put mnemon on PATH, or name it in MNEMON`) : error;
    }),
  ]);
  // The proxy does not keep this process alive: when it ends, its end of the pipe closes, and the proxy ends as well.
  const held = [child, child.stdin, child.stdout, child.stderr];
  held.forEach((handle) => handle.unref());
  const before = Object.fromEntries(Object.keys(ready.env).map((name) => [name, process.env[name]]));
  // It notes what the environment was when it is loaded, so it comes first.
  require(ready.env.MNEMON_NODE);
  Object.assign(process.env, ready.env);

  async function stop() {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    held.forEach((handle) => handle.ref());
    child.stdin.end();
    const [code] = await ended;
    if (code !== 0) throw new Error(said.trim());
    return said.trim();
  }

  return { proxy: ready.proxy, ca: ready.ca, bundle: ready.bundle, env: ready.env, stop };
}

module.exports = { startMnemon };
