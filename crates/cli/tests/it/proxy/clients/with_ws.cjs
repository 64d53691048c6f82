const WebSocket = require('ws');

const body = (name, bytes) => console.log('line', name, bytes.length, bytes.toString('base64').slice(0, 40));
const echo = new WebSocket('wss://api.metroon.test/ws');
const messages = ['one', Buffer.from([0, 1, 2]), 'croak '.repeat(2000)];
echo.on('open', () => echo.send(messages.shift()));
echo.on('message', (data) => {
  body('echo', data);
  messages.length > 0 ? echo.send(messages.shift()) : echo.ping();
});
echo.on('pong', () => { console.log('line pong came'); echo.close(); });
echo.on('close', () => {
  const ticker = new WebSocket('wss://api.metroon.test/ws/ticker?n=5&gap=100');
  ticker.on('message', (data) => console.log('piece', Math.round(performance.now()), 'tick', data.toString('base64')));
  ticker.on('close', (code) => console.log('line closed', code));
});
