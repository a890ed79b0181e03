import { expect, test } from 'bun:test'
import { RevertError, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { errorFromRpc, hasFault } from '../../../../src/chain/rpc/error.ts'
import type { RpcErrorObject } from '../../../../src/chain/rpc/refusal.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { type Meaning, REFUSALS } from './refusals.ts'

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
  expect(hasFault(meaning, 'busy')).toBe(busy)
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
    expect(hasFault(meaning, 'no_block')).toBe(may)
  },
)

test.each([
  ['geth', { code: -32000, message: `missing trie node ${'9f'.repeat(32)} (path ) state 0x9f is not available` }],
  ['geth with path scheme', { code: -32000, message: `historical state ${'9f'.repeat(32)} is not available` }],
  ['geth tracing', { code: -32000, message: 'required historical state unavailable (reexec=128)' }],
  ['geth without old bodies', { code: 4444, message: 'pruned history unavailable' }],
  ['Erigon', { code: -32000, message: 'old data not available due to pruning' }],
  ['Erigon 3', { code: -32000, message: 'seek with txNum=19628 but data before txNum=26625 is not available' }],
  ['reth', { code: -32603, message: 'State at block #11052984 is pruned' }],
  ['reth on OP stack', { code: -32603, message: 'no state found for block 0x9f' }],
  ['reth without proofs', { code: -32603, message: 'distance to target block exceeds maximum proof window' }],
  ['Nethermind', { code: -32002, message: 'No state available for block 0x9f' }],
  ['Besu', { code: -32000, message: 'World state unavailable' }],
  ['OpenEthereum', { code: -32000, message: 'your node is running with state pruning. Run with --pruning=archive.' }],
  ['zkSync', { code: -32602, message: 'Block with such an ID is pruned, the first retained block is 5' }],
  ['Sonic', { code: -32000, message: 'state does not maintain archive data' }],
  ['OP before Bedrock', { code: -32000, message: 'no historical RPC is available for this historical (pre-bedrock)' }],
  ['Moonbeam', { code: -32603, message: 'State already discarded for 0x9f' }],
  ['Cronos', { code: -32000, message: 'height 5 is not available, lowest height is 100' }],
  ['Infura', { code: -32002, message: 'project ID does not have access to archive state' }],
  ['PublicNode', { code: -32602, message: 'Archive requests require a personal token' }],
  ['Chainstack', { code: -32002, message: 'Access to archival, debug, or trace data is not in your current plan' }],
] as [string, RpcErrorObject][])('errorFromRpc() knows state that is gone, as %s says it', (_, error) => {
  const meaning = errorFromRpc(error)
  expect(meaning).toMatchObject({ fault: 'no_state' })
  expect(meaning.message).not.toContain(error.message)
})

test.each([
  { code: -32601, message: 'the method eth_getBlockReceipts does not exist/is not available' },
  { code: -32000, message: 'method eth_getBlockReceipts not available' },
  { code: -32000, message: 'rpc method is not whitelisted' },
])('errorFromRpc() distinguishes an unsupported method from a missing block: %o', (error) => {
  const meaning = errorFromRpc(error)
  expect(meaning).toBeInstanceOf(RpcRefusedError)
  expect((meaning as RpcRefusedError).reason).toBe('kind')
})

test('errorFromRpc() distinguishes a syncing node from one with pruned state', () => {
  const meaning = errorFromRpc({ code: -32000, message: 'node is not synced' })
  expect(meaning).toBeInstanceOf(UpstreamError)
  expect(meaning).not.toMatchObject({ fault: 'no_state' })
})

function toMeaning(error: Error): Meaning {
  if (error instanceof RevertError) return 'revert'
  if (error instanceof RpcRefusedError) return error.reason as Meaning
  if (hasFault(error, 'busy')) return 'busy'
  if (hasFault(error, 'no_state')) return 'no state'
  return hasFault(error, 'no_block') ? 'no block' : 'failure'
}

test.each(REFUSALS.map((each) => [each[0], each[2], each] as const))('%s: %s', (_, __, refused) => {
  const [, code, message, meaning, data] = refused
  expect(toMeaning(errorFromRpc({ code, message, ...(data !== undefined && { data }) }))).toBe(meaning)
})
