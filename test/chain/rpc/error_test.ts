import { expect, test } from 'bun:test'
import { RevertError, RpcRefusedError } from '../../../src/chain/rpc/client.ts'
import { BusyError, errorFromRpc, MissingBlockError, type RpcErrorObject } from '../../../src/chain/rpc/error.ts'
import { UpstreamError } from '../../../src/lib/error.ts'

const REASON = '0x08c379a0'

test.each([
  ['geth, Erigon, reth, anvil', { code: 3, message: 'execution reverted: no', data: REASON }, REASON],
  ['geth without data', { code: -32000, message: 'execution reverted' }, '0x'],
  ['geth with empty data', { code: 3, message: 'execution reverted', data: '0x' }, '0x'],
  ['Besu', { code: -32000, message: 'Execution reverted', data: REASON }, REASON],
  ['Nethermind of 2025', { code: -32000, message: 'execution reverted', data: REASON }, REASON],
  ['Nethermind of 2023', { code: -32015, message: 'VM execution error.', data: `Reverted ${REASON}` }, REASON],
  ['Nethermind, in the message', { code: -32015, message: `Reverted ${REASON}` }, REASON],
  ['Nethermind without data', { code: -32015, message: 'VM execution error.', data: 'revert' }, '0x'],
  ['OpenEthereum', { code: -32015, message: 'VM execution error.', data: 'Reverted 0x' }, '0x'],
  [
    'Nethermind of 2025, with the gas that it gave',
    { code: -32015, message: 'VM execution error.', data: `err: ${REASON} (supplied gas 36000000)` },
    REASON,
  ],
  [
    'Nethermind of 2025, without data',
    { code: -32015, message: 'VM execution error.', data: 'err: revert (supplied gas 36000000)' },
    '0x',
  ],
  [
    'Nethermind with bytes that spell "out of gas"',
    { code: -32015, message: 'Reverted 0x6f7574206f6620676173' },
    '0x6f7574206f6620676173',
  ],
  ['Nethermind at an invalid opcode', { code: -32015, message: 'VM execution error.', data: 'BadInstruction' }, '0x'],
  ['Alchemy and QuickNode', { code: -32000, message: 'execution reverted', data: REASON }, REASON],
  ['hardhat', { code: -32603, message: 'Error: VM Exception', data: { message: 'x', data: REASON } }, REASON],
  [
    'ganache',
    {
      code: -32000,
      message: 'VM Exception while processing transaction: revert',
      data: { '0xab': { error: 'revert', return: REASON } },
    },
    REASON,
  ],
  ['an old contract that runs into INVALID', { code: -32000, message: 'invalid opcode: INVALID' }, '0x'],
  ['anvil at an invalid opcode', { code: -32603, message: 'EVM error InvalidFEOpcode' }, '0x'],
  ['a stack underflow', { code: -32000, message: 'stack underflow (0 <=> 2)' }, '0x'],
  ['a reason that mentions rate limits', { code: 3, message: 'execution reverted: rate limit', data: REASON }, REASON],
  ['a reason that mentions gas', { code: -32000, message: 'execution reverted: out of gas' }, '0x'],
] as [string, RpcErrorObject, string][])('errorFromRpc() knows a revert of %s', (_, error, data) => {
  const meaning = errorFromRpc(error)
  expect(meaning).toBeInstanceOf(RevertError)
  expect((meaning as RevertError).data as string).toBe(data)
})

test.each([
  ['kind', { code: -32602, message: 'too many arguments, want at most 2' }],
  ['kind', { code: -32602, message: 'Invalid params' }],
  ['kind', { code: -32601, message: 'Method not found' }],
  ['kind', { code: -32000, message: 'state override is not supported' }],
  ['kind', { code: -32603, message: 'json: unknown field "code"' }],
  ['size', { code: -32000, message: 'out of gas' }],
  ['size', { code: -32603, message: 'EVM error OutOfGas' }],
  ['size', { code: -32015, message: 'VM execution error.', data: 'OutOfGas' }],
  ['size', { code: -32015, message: 'VM execution error.', data: 'err: OutOfGas (supplied gas 36000000)' }],
  ['size', { code: -32015, message: 'VM execution error: OutOfGas' }],
  ['size', { code: -32015, message: 'VM execution error.', data: 'gas limit below intrinsic gas' }],
  ['size', { code: -32000, message: 'out of gas', data: '0x' }],
  ['size', { code: -32000, message: 'gas required exceeds allowance (50000000)' }],
  ['size', { code: -32003, message: 'max initcode size exceeded' }],
  ['size', { code: -32000, message: 'max code size exceeded' }],
  ['size', { code: -32603, message: 'EVM error CreateContractSizeLimit' }],
  ['size', { code: -32008, message: 'Response is too big' }],
  ['size', { code: -32000, message: 'response size exceeded the limit' }],
  ['size', { code: -32000, message: 'execution aborted (timeout = 5s)' }],
  ['size', { code: -32600, message: 'request entity too large' }],
] as ['kind' | 'size', RpcErrorObject][])('errorFromRpc() knows a refusal about the %s: %o', (reason, error) => {
  const meaning = errorFromRpc(error)
  expect(meaning).toBeInstanceOf(RpcRefusedError)
  expect((meaning as RpcRefusedError).reason).toBe(reason)
  expect(meaning.message).not.toContain(error.message)
})

test.each([
  [true, { code: 429, message: 'Your app has exceeded its compute units per second capacity' }],
  [true, { code: -32005, message: 'project ID request rate exceeded: rate limited' }],
  [true, { code: -32007, message: '50/second request limit reached' }],
  [true, { code: -32016, message: 'over rate limit' }],
  [false, { code: -32603, message: 'Internal error' }],
  [false, { code: -32000, message: 'missing trie node 9f (path )' }],
  [false, { code: -32602, message: 'BlockOutOfRangeError: block height is 0 but requested was 5' }],
  [false, { code: 0, message: '' }],
] as [boolean, RpcErrorObject][])('errorFromRpc() moves on, busy %p: %o', (busy, error) => {
  const meaning = errorFromRpc(error)
  expect(meaning).toBeInstanceOf(UpstreamError)
  expect(meaning instanceof BusyError).toBe(busy)
})

test.each([
  [true, { code: -32000, message: 'header not found' }],
  [true, { code: -32000, message: 'header for hash not found' }],
  [true, { code: -32000, message: 'Unknown block' }],
  [true, { code: -39001, message: 'Unknown block' }],
  [true, { code: -32001, message: 'Resource not found' }],
  [true, { code: -32001, message: `Block 0x${'ab'.repeat(32)} could not be found` }],
  [true, { code: -32001, message: `block not found: hash 0x${'ab'.repeat(32)}` }],
  [true, { code: -32602, message: 'BlockOutOfRangeError: block height is 0 but requested was 5' }],
  [true, { code: -32602, message: "Block with such an ID doesn't exist yet" }],
  [true, { code: -32000, message: 'cannot query unfinalized data' }],
  [false, { code: -32000, message: 'missing trie node 9f (path ) state 0x9f is not available' }],
  [false, { code: -32000, message: 'historical state 9f is not available' }],
  [false, { code: -32603, message: 'Internal error' }],
] as [boolean, RpcErrorObject][])(
  'errorFromRpc() tells a block that may come from one that will not, %p: %o',
  (may, error) => {
    const meaning = errorFromRpc(error)
    expect(meaning).toBeInstanceOf(UpstreamError)
    expect(meaning instanceof MissingBlockError).toBe(may)
  },
)
