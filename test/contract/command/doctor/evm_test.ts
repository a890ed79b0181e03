import { beforeAll, beforeEach, expect, test } from 'bun:test'
import { LENS_ADDRESS } from '../../../../src/chain/call/bundle/bundle.ts'
import { examineEvm } from '../../../../src/command/doctor/evm.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import type { SeenRequest } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'

const BLOCKS = 1_500
const faulty = useFaultyChain()
let headMs = 0

beforeAll(async () => {
  await createRpc(faulty.anvil.rpcUrl).call('anvil_mine', `0x${BLOCKS.toString(16)}`, '0x0')
}, 60_000)

beforeEach(async () => {
  const { timestamp } = await createRpc(faulty.anvil.rpcUrl).call<{ timestamp: string }>(
    'eth_getBlockByNumber',
    'latest',
    false,
  )
  headMs = Number(timestamp) * 1_000
})

function chainAt(url: string, changes: Partial<FinanceChain> = {}): FinanceChain {
  return {
    id: 1,
    name: 'Ethereum',
    rpcUrls: [url],
    blockTimeMs: 12_000,
    reuseMs: 0,
    finality: { depth: 0 },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
    prices: { usdFeeds: {}, stablecoins: [] },
    ...changes,
  }
}

/** Findings by check, as `verdict: found`; requires a cost for every finding that is not good. */
async function examined(options: { readonly chain?: Partial<FinanceChain>; readonly nowMs?: number } = {}) {
  const { rpc } = faulty
  const url = `${rpc.url}path-secret?key=query-secret`.replace('//', '//user:user-secret@')
  const clock: Clock = { ...slowClock, now: () => options.nowMs ?? headMs + 4_000 }
  const findings = await examineEvm(chainAt(url, options.chain), 0, {
    clock,
    log: silentLog,
    work: createWork(new AbortController().signal),
  })
  expect(JSON.stringify(findings)).not.toContain('secret')
  for (const { verdict, cost } of findings) expect(cost === undefined).toBe(verdict === 'good')
  return Object.fromEntries(findings.map(({ check, verdict, found }) => [check, `${verdict}: ${found}`]))
}

const getWidth = ({ params }: SeenRequest): number => {
  const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
  return Number(toBlock) - Number(fromBlock) + 1
}

test('an endpoint with every ability has only good findings', async () => {
  const { answers, ...rest } = await examined()
  expect(answers).toMatch(/^good: in \d+ ms$/)
  expect(rest).toEqual({
    head: `good: block ${BLOCKS}, 4 s old`,
    'state override': 'good: yes',
    'deployless calls': 'good: yes',
    'gas of a call': expect.stringMatching(/^good: \d+(\.\d)? million$/),
    'past state': 'good: all blocks (archive)',
    logs: `good: ${(BLOCKS + 1).toLocaleString('en')} blocks at once, or more`,
    'old logs': 'good: yes',
    'finalized tag': expect.stringMatching(/^good: block \d+$/),
    proofs: 'good: all blocks (archive)',
    'proof hints': 'good: debug_traceCall',
  })
})

test('the finality tag is examined, if the chain has one', async () => {
  expect(await examined({ chain: { finality: { tag: 'finalized' } } })).toMatchObject({
    finality: expect.stringMatching(/^good: block \d+$/),
  })
  faulty.rpc.rule(({ params }) => (params[0] === 'finalized' ? { kind: 'result', result: null } : undefined))
  expect(await examined({ chain: { finality: { tag: 'finalized' } } })).toMatchObject({
    finality: 'lack: no finalized block',
    'finalized tag': 'lack: no finalized block',
  })
  expect(await examined()).toMatchObject({ 'finalized tag': 'lack: no finalized block' })
})

test.each(['ignore', 'refuse'] as const)('a missing state override is found if the endpoint may %s it', async (how) => {
  faulty.rpc.rule(() => ({ kind: 'no_overrides', how }))
  expect(await examined()).toMatchObject({ 'state override': 'lack: no', 'deployless calls': 'good: yes' })
})

test('missing deployless calls are found, then both missing', async () => {
  faulty.rpc.rule(() => ({ kind: 'no_revert_data' }))
  expect(await examined()).toMatchObject({ 'state override': 'good: yes', 'deployless calls': 'lack: no' })
  faulty.rpc.rule(({ method }) => (method === 'eth_call' ? { kind: 'result', result: '0x' } : undefined))
  const { calls } = await examined()
  expect(calls).toBe('failed: neither state override nor calls without an address')
})

test('a low gas limit is found', async () => {
  const left = `0x${(9_900_000).toString(16).padStart(64, '0')}`
  faulty.rpc.rule(({ params }) => (params.length > 2 ? { kind: 'result', result: left } : undefined))
  expect(await examined()).toMatchObject({ 'gas of a call': 'lack: 9.9 million' })
})

test('an endpoint that keeps only recent state is found', async () => {
  const keep = (depth: number) =>
    faulty.rpc.rule(({ method, params }) =>
      method === 'eth_getBalance' && BLOCKS - Number(params[1]) > depth
        ? { kind: 'error', error: { code: -32000, message: 'missing trie node path-secret' } }
        : undefined,
    )
  keep(1_200)
  expect(await examined()).toMatchObject({ 'past state': 'lack: at least 1,000 blocks' })
  keep(64)
  expect(await examined()).toMatchObject({ 'past state': 'lack: none' })
})

test('limits of log ranges, missing logs and missing old logs are found', async () => {
  const refuse = (refuses: (request: SeenRequest) => boolean) =>
    faulty.rpc.rule((request) =>
      request.method === 'eth_getLogs' && refuses(request)
        ? { kind: 'error', error: { code: -32005, message: 'query exceeds max block range' } }
        : undefined,
    )
  refuse((request) => getWidth(request) > 600)
  expect(await examined()).toMatchObject({ logs: 'lack: 500 blocks at once', 'old logs': 'good: yes' })
  refuse(({ params }) => (params[0] as { toBlock: string }).toBlock === '0x1')
  expect(await examined()).toMatchObject({ logs: expect.stringMatching(/^good/), 'old logs': 'lack: no' })
  refuse(() => true)
  expect(await examined()).toMatchObject({ logs: 'lack: none', 'old logs': 'lack: no' })
})

test('the depth of proofs is found, or the reason why there are none', async () => {
  const refusal = { kind: 'error', error: { code: -32000, message: 'distance exceeds maximum proof window' } } as const
  const hashes = new Map<unknown, number>()
  for (const depth of [100, 1_000, BLOCKS - 1]) {
    const { hash } = await createRpc(faulty.anvil.rpcUrl).call<{ hash: string }>(
      'eth_getBlockByNumber',
      `0x${(BLOCKS - depth).toString(16)}`,
      false,
    )
    hashes.set(hash, depth)
  }
  const getDepth = ({ params }: SeenRequest): number =>
    hashes.get((params[2] as { readonly blockHash: string }).blockHash) ?? 0
  const keep = (depth: number) =>
    faulty.rpc.rule((request) => (request.method === 'eth_getProof' && getDepth(request) > depth ? refusal : undefined))
  keep(1_200)
  expect(await examined()).toMatchObject({
    proofs: expect.stringMatching(/^lack: at least 1,000 blocks/),
  })
  keep(128)
  expect(await examined()).toMatchObject({
    proofs: expect.stringMatching(/^lack: at least 100 blocks/),
  })
  keep(0)
  expect(await examined()).toMatchObject({ proofs: 'lack: at least the newest block' })
  keep(-1)
  const { proofs, 'proof hints': hints } = await examined()
  expect([proofs, hints]).toEqual(['lack: none', undefined])
  // An endpoint that claims to prove a state must prove it.
  const change = (result: unknown): unknown => JSON.parse(JSON.stringify(result).replaceAll('"0xf', '"0xe'))
  faulty.rpc.rule(({ method }) => (method === 'eth_getProof' ? { kind: 'change', change } : undefined))
  expect(await examined()).toMatchObject({ proofs: 'lack: none' })
  const other = (result: unknown) => ({ ...(result as object), extraData: '0x1234' })
  faulty.rpc.rule(({ method }) => (method === 'eth_getBlockByHash' ? { kind: 'change', change: other } : undefined))
  expect(await examined()).toMatchObject({
    proofs: "lack: none, because the chain's header does not hash to its hash",
  })
})

test('the method of proof hints is found', async () => {
  const unknown = { kind: 'error', error: { code: -32_601, message: 'the method does not exist' } } as const
  const [address, slot] = [LENS_ADDRESS, `0x${'0'.repeat(64)}`]
  const given: Readonly<Record<string, unknown>> = {
    eth_createAccessList: { accessList: [{ address, storageKeys: [slot] }], gasUsed: '0x0' },
    debug_traceCall: { [address]: { storage: { [slot]: slot } } },
    proof_call: { result: '0x', witness: { state: ['0xc0'], codes: [], keys: [], headers: [] } },
  }
  for (const [method, result] of Object.entries(given)) {
    faulty.rpc.rule((request) => {
      if (request.method === method) return { kind: 'result', result }
      return request.method in given ? unknown : undefined
    })
    expect(await examined()).toMatchObject({ 'proof hints': `good: ${method}` })
  }
  // Two that ran the call without the override.
  for (const result of [{ accessList: [] }, { [address]: { balance: '0x0' } }]) {
    faulty.rpc.rule((request) => (request.method in given ? { kind: 'result', result } : undefined))
    expect(await examined()).toMatchObject({ 'proof hints': 'lack: none' })
  }
})

test('an old head and differing clocks are found', async () => {
  expect(await examined({ nowMs: headMs + 300_000 })).toMatchObject({
    head: `failed: block ${BLOCKS}, 300 s old; at most 240 s are accepted`,
  })
  expect(await examined({ nowMs: headMs - 30_000 })).toMatchObject({
    head: `lack: block ${BLOCKS}, 30 s ahead of this machine's clock`,
  })
})

test('an endpoint of another chain gets no further requests', async () => {
  expect(await examined({ chain: { id: 10 } })).toEqual({ 'chain id': 'failed: it is chain 1' })
  expect(faulty.rpc.seen.map(({ method }) => method)).toEqual(['eth_chainId'])
})

test('an endpoint that fails is reported with the reason, in our words', async () => {
  faulty.rpc.rule(() => ({ kind: 'http', status: 403, body: 'path-secret' }))
  expect(await examined()).toEqual({ answers: 'failed: The endpoint answered HTTP 403' })
  faulty.rpc.rule(() => ({ kind: 'http', status: 429, body: '' }))
  expect(await examined()).toEqual({ answers: 'failed: The endpoint limits its rate' })
})
