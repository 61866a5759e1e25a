// Preloaded into the gateway, which listens on all interfaces and says a lot: every listener goes to a port of the kernel's
// choice on loopback, and all that is said on stdout is that port.
'use strict';

const fs = require('node:fs');
const net = require('node:net');

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...words) {
  this.once('listening', () => fs.writeSync(1, `${this.address().port}\n`));
  return listen.call(this, { port: 0, host: '127.0.0.1' }, words.find((word) => typeof word === 'function'));
};

process.stdout.write = (_text, ...words) => {
  words.find((word) => typeof word === 'function')?.();
  return true;
};
