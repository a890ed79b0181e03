import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, keccak256, toHex } from 'viem'
import { LENS_ADDRESS } from '../../../../src/chain/call/bundle/bundle.ts'
import { type Envelope, signEnvelope } from '../../../../src/lib/dsse.ts'
import { PAYLOAD_TYPE, type Payload } from '../../../../src/receipt/payload.ts'
import { exclusiveAave, type SharedAave } from '../../../devnet/aave_v3/shared.ts'
import { TOKENS } from '../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import { createRandom } from '../../../devnet/random.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { liquidityWorth } from '../../../devnet/uniswap_v4/pools.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../support/rpc.ts'
import {
  changeFirstResult,
  checked,
  decodePayload,
  encodeReceipt,
  isExistenceCall,
  rowOver,
  type Stage,
  stageOver,
} from '../stage.ts'
import { answersBySecondVerifier } from './second_verifier.ts'

// Anvil makes the whole tree of its state anew for each proof: chains of this file alone are small.
let devnet: Devnet
/** With `SEEDS=full`: its proofs are the largest. */
let lending: SharedAave | undefined
let morpho: MorphoDevnet
let stage: Stage
let position: string

beforeAll(async () => {
  ;[devnet, lending] = await Promise.all([startDevnet(), IS_FULL ? exclusiveAave() : undefined])
  morpho = await devnet.morpho()
  stage = stageOver([rowOver([devnet.rpcUrl])])
  position = `/v1/positions/uniswap-v3/${devnet.positions.good}?full=false`
}, 240_000)
afterAll(() => Promise.all([devnet?.stop(), lending?.devnet.stop()]))

const isTrue = { is: 'true' }

/** The only input that a verifier trusts. */
function believed(receipt: Envelope): ReadonlyMap<number, string> {
  return new Map(decodePayload(receipt).reads.map(({ chain_id, block }) => [chain_id, block.hash]))
}

/** Asks for a proof, and looks at it with our verifier and with the other. */
async function proven(path: string, by: Stage = stage): Promise<Payload> {
  const answer = await by.get(`${path}&receipt=proof`)
  expect([path, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([path, 200, ''])
  const { receipt, data } = answer.body
  const payload = decodePayload(receipt)
  const chain = path.includes('/yield?') ? '' : '&chain_id=1'
  const at = `${chain}&at_block=${payload.reads[0]?.block.number}`
  const plain = await by.get(`${path}${at}&receipt=true`)
  expect(JSON.stringify(data)).toBe(JSON.stringify(plain.body.data))
  expect(payload.level).toBe('proven')
  // What endpoints answer to `eth_call` at that block, and what the proven state does.
  // Which contracts stand at a named block is one more call.
  const asked = new Set(payload.reads[0]?.calls.map(({ data }) => data))
  const called = decodePayload(plain.body.receipt)
    .reads[0]?.calls.filter((each) => asked.has(each.data))
    .map(({ answer }) => answer)
  expect(payload.reads[0]?.calls.map(({ answer }) => answer)).toEqual(called)
  expect(await answersBySecondVerifier(payload)).toEqual(called ?? [])
  const { is, verdicts } = await checked(by, encodeReceipt(receipt), [], believed(receipt))
  expect({ is, ...verdicts }).toMatchObject({
    is: 'true',
    signature: isTrue,
    figures: isTrue,
    answers: isTrue,
    lens: isTrue,
    block: isTrue,
  })
  return payload
}

describe('receipt=proof', () => {
  test('proves one position, after real swaps too', async () => {
    for (let times = 0; times < caseCount(3, 1); times++) {
      await proven(position)
      await swap(BigInt(times + 1) * 10_000_000n)
    }
  }, 120_000)

  test.if(IS_FULL)(
    'proves a list of 50 positions page by page, and says so if a longer one is too much',
    async () => {
      const { provider } = devnet.wallets
      await devnet.mintMany(provider, 50 - (await total(provider)))
      const path = `/v1/positions/uniswap-v3?wallet=${provider}&limit=25`
      for (const page of [1, 2]) {
        await swap(30_000_000n)
        expect((await proven(`${path}&page=${page}`)).answer.data).toHaveLength(25)
      }
      await devnet.mintMany(provider, 50)
      const { status, body, headers } = await stage.get(`${path}&receipt=proof`)
      expect([status, body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
      expect(body.error.message).toContain('more than 1000 slots, whatever its "limit"')
      expect(headers.get('x-credits-charged')).toBe('0')
    },
    240_000,
  )

  test.if(IS_FULL)(
    'proves three markets of Aave, whose interest grows between, and a batch',
    async () => {
      const { aave, devnet: chain } = requireLending()
      const path = `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`
      const first = await proven(path, stageOver([rowOver([chain.rpcUrl])]))
      await chain.rpc.call('evm_increaseTime', 600)
      await chain.rpc.call('evm_mine')
      const aged = stageOver([rowOver([chain.rpcUrl])])
      const second = await proven(path, aged)
      expect(second.reads[0]?.calls[0]?.answer).not.toBe(first.reads[0]?.calls[0]?.answer)
      const wallets = [aave.wallets.emode, aave.wallets.supplier, devnet.wallets.empty]
      const batch = await aged.post('/v1/lending/aave-v3/batch?receipt=proof', { wallets, chain_id: 1 })
      expect(batch.status).toBe(200)
      expect((await checked(aged, encodeReceipt(batch.body.receipt))).is).toBe('true')
    },
    120_000,
  )

  test('proves a market of Morpho Blue before and after it counts its interest', async () => {
    const aged = stageOver([rowOver([devnet.rpcUrl])])
    const { wethUsdc } = morpho.markets
    const query = `wallet=${morpho.wallets.both}&market_id=${wethUsdc.id}`
    await proven(`/v1/lending/morpho-blue/position/1/yield?${query}`, aged)
    await morpho.accrue(wethUsdc)
    await proven(`/v1/lending/morpho-blue/position/1/yield?${query}`, aged)
  }, 60_000)

  test('proves positions of Uniswap V4: of the native currency, and of a pool with a hook', async () => {
    const { pools, mintMany } = await devnet.uniswapV4()
    const ids = await mintMany(
      [pools.native, pools.dynamicFee].map((pool) => {
        const range = rangeAround(pool, -900, 900)
        const liquidity = liquidityWorth(pool, { ...range, usd: 1_000 })
        return { pool, ...range, liquidity, recipient: devnet.wallets.single }
      }),
    )
    const aged = stageOver([rowOver([devnet.rpcUrl])])
    for (const id of ids) {
      const { answer } = await proven(`/v1/positions/uniswap-v4/${id}?full=false`, aged)
      expect(answer.data).toMatchObject({ token_id: String(id), wallet: devnet.wallets.single })
    }
  }, 120_000)

  test('costs 25 credits more, is made one at a time, and requires the credits', async () => {
    const plain = await stage.get(position)
    const [one, other] = await Promise.all([1, 2].map(() => stage.get(`${position}&receipt=proof`)))
    expect([one, other].map((each) => each?.status).sort()).toEqual([200, 503])
    const [given, refused] = one?.status === 200 ? [one, other] : [other, one]
    const credits = (answer: typeof plain | undefined) => Number(answer?.headers.get('x-credits-charged'))
    expect([credits(given), credits(refused)]).toEqual([credits(plain) + 25, 0])
    expect(refused?.headers.get('retry-after')).toBe('1')
    expect((await stage.get(`${position}&receipt=proof`, 'poor')).status).toBe(402)
    expect((await stage.get(`${position}&receipt=proof`)).status).toBe(200)
  })

  test('takes few requests, and says so with no URL in it', async () => {
    stage.requests.length = 0
    const { body } = await stage.get(`${position}&receipt=proof`)
    expect(stage.requests.length).toBeLessThanOrEqual(25)
    expect(Buffer.from(body.receipt.payload, 'base64').toString()).not.toContain('127.0.0.1')
  })

  test('proves a named block, and which contracts stand there', async () => {
    const number = (await devnet.client.getBlockNumber()) - 1n
    for (const path of [position, `/v1/positions/uniswap-v3?wallet=${devnet.wallets.single}`]) {
      const { status, body, text } = await stage.get(`${path}&chain_id=1&at_block=${number}&receipt=proof`)
      expect([status, status === 200 ? '' : text]).toEqual([200, ''])
      const { receipt } = body
      const { reads } = decodePayload(receipt)
      expect(reads[0]?.headers.map(({ method }) => method)).toEqual(['eth_getBlockByNumber'])
      expect(reads[0]?.calls.map(isExistenceCall).sort()).toEqual([false, true])
      expect((await checked(stage, encodeReceipt(receipt), [], believed(receipt))).is).toBe('true')
      for (const result of ['010000', '000001ff'] as const) {
        const payload = decodePayload(receipt)
        for (const each of payload.reads[0]?.calls ?? []) {
          if (isExistenceCall(each)) each.answer = changeFirstResult(each.answer, result)
        }
        const lie = encodeReceipt(signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer))
        const { is, verdicts } = await checked(stage, lie, [], believed(receipt))
        expect([result, is]).toEqual([result, 'false'])
        if (result !== '010000') expect(verdicts.answers.because).toContain('the proven state answers other bytes')
      }
    }
  }, 60_000)
})

describe('an endpoint', () => {
  let rpc: FaultyRpc
  let behind: Stage

  beforeAll(async () => {
    rpc = await startFaultyRpc(devnet.rpcUrl)
    behind = stageOver([rowOver([rpc.url])])
  })

  const unknown = { kind: 'error', error: { code: -32_601, message: 'the method does not exist' } } as const

  test('that traces no calls gives an access list, or else rounds of runs find the reads', async () => {
    await proven(position, behind)
    // Anvil takes no overrides there: the list is made of what it traces.
    const traced = rpc.seen.find(({ method }) => method === 'debug_traceCall')
    const touched = await devnet.rpc.call<Readonly<Record<Hex, { readonly storage?: object }>>>(
      'debug_traceCall',
      ...(traced?.params ?? []),
    )
    const accessList = Object.entries(touched).map(([address, { storage = {} }]) => ({
      address,
      storageKeys: Object.keys(storage),
    }))
    for (const isListed of [true, false]) {
      const fresh = stageOver([rowOver([rpc.url])])
      rpc.reset()
      rpc.rule(({ method }) => {
        if (method === 'debug_traceCall') return unknown
        if (method !== 'eth_createAccessList') return undefined
        return isListed ? { kind: 'result', result: { accessList, gasUsed: '0x0' } } : unknown
      })
      for (let times = 0; times < 2; times++) {
        const answer = await fresh.get(`${position}&receipt=proof`)
        expect([isListed, answer.status]).toEqual([isListed, 200])
        expect((await checked(fresh, encodeReceipt(answer.body.receipt))).is).toBe('true')
      }
      // What it does not give is asked for once.
      expect(rpc.seen.filter(({ method }) => method === 'debug_traceCall')).toHaveLength(1)
      expect(rpc.seen.filter(({ method }) => method === 'eth_createAccessList')).toHaveLength(isListed ? 2 : 1)
    }
  }, 120_000)

  test('of Nethermind gives the whole witness in one request without overrides', async () => {
    // The call runs on a real node, whose tracer says what it read; Nethermind answers with what proves that.
    const positions = { node: rpc, chain: devnet, path: position }
    const scenes = [...(IS_FULL ? [await accountScene()] : []), positions]
    const witnesses = new Map<string, object>()
    for (const { node, chain, path } of scenes) {
      const asked: SeenRequest[] = []
      node.rule((request) => {
        if (request.method === 'proof_call') asked.push(request)
        return undefined
      })
      await proven(path, stageOver([rowOver([node.url])]))
      for (const { params } of asked) witnesses.set(JSON.stringify(params), await readWitness(chain, params))
    }
    expect(witnesses.size).toBe(scenes.length)
    const answering =
      (change: (witness: object) => unknown): Parameters<FaultyRpc['rule']>[0] =>
      ({ method, params }) => {
        if (method !== 'proof_call') return method === 'debug_traceCall' ? unknown : undefined
        const error = { code: 3, message: 'execution reverted', data: '0x' }
        const witness = witnesses.get(JSON.stringify(params))
        return { kind: 'result', result: { error, witness: witness && change(witness) } }
      }
    const requests = async ({ node, path }: typeof positions, rule: Parameters<FaultyRpc['rule']>[0]) => {
      node.rule(rule)
      const fresh = stageOver([rowOver([node.url])])
      const answer = await fresh.get(`${path}&receipt=proof`)
      expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
      const { receipt } = answer.body
      expect((await checked(fresh, encodeReceipt(receipt), [], believed(receipt))).is).toBe('true')
      return fresh.requests
    }
    for (const each of scenes) {
      const whole = await requests(
        each,
        answering((witness) => witness),
      )
      expect(whole).toContain('proof_call')
      expect(whole).not.toContain('debug_traceCall')
      expect([each.path, whole.length]).toEqual([each.path, 5])
    }
    // What it does not say, or says falsely, costs requests.
    const flipped = (list: readonly Hex[]) => list.map((each, at) => flipBit(each, at))
    const allLies: readonly ((witness: object) => unknown)[] = [
      () => undefined,
      () => ({ state: [], codes: [] }),
      () => ({ state: '0x', codes: [7] }),
      (witness) => ({ ...witness, codes: [] }),
      (witness) => ({ ...witness, ...('state' in witness ? { state: flipped(witness.state as Hex[]) } : {}) }),
      (witness) => ({ ...witness, state: Array.from({ length: 3_000 }, (_, at) => toHex(at, { size: 64 })) }),
    ]
    for (const [at, lie] of allLies.slice(-caseCount(allLies.length, 2)).entries()) {
      const sent = await requests(positions, answering(lie))
      expect([at, sent.length > 5]).toEqual([at, true])
    }
    for (const { node } of scenes) if (node !== rpc) await node.stop()
  }, 240_000)

  test('with false hints costs rounds, and changes nothing', async () => {
    const lying = await startFaultyRpc(devnet.rpcUrl)
    const many = Object.fromEntries(
      Array.from({ length: 2_500 }, (_, at) => [toHex(at, { size: 32 }), `0x${'1'.repeat(64)}`]),
    )
    const strangers = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [toHex(at + 1_000, { size: 20 }), {}]))
    let strangersAsked = 0
    const storage = { [`0x${'0'.repeat(63)}7`]: `0x${'1'.repeat(64)}` }
    const { reads, proofs, answer } = await proven(position, stageOver([rowOver([lying.url])]))
    const lies = [
      { ...strangers, [TOKENS.weth.address]: { storage } },
      'nonsense',
      { [TOKENS.weth.address]: { code: '0x00', storage } },
      { [TOKENS.weth.address]: { storage: many } },
      { [LENS_ADDRESS]: { storage } },
      {},
    ]
    for (const lie of lies.slice(0, caseCount(lies.length, 2))) {
      lying.rule(({ method, params: [account] }) => {
        if (method === 'debug_traceCall') return { kind: 'result', result: lie }
        if (method !== 'eth_getProof' || typeof account !== 'string' || !(account in strangers)) return undefined
        strangersAsked++
        return { kind: 'result', result: { accountProof: [], storageProof: [] } }
      })
      const { body } = await stageOver([rowOver([lying.url])]).get(`${position}&receipt=proof`)
      expect(decodePayload(body.receipt)).toMatchObject({ reads, proofs, answer })
    }
    // Those that are named first.
    expect(strangersAsked).toBe(500)
    await lying.stop()
  }, 120_000)

  test('without a proof, or with one of another block or a false one, gives no receipt, and nothing is charged', async () => {
    const refuses = (message: string) => ({ kind: 'error', error: { code: -32_000, message } }) as const
    const garbled = (result: unknown): unknown => JSON.parse(JSON.stringify(result).replaceAll('0xf8', '0xf7'))
    const cases: readonly (readonly [rule: Parameters<FaultyRpc['rule']>[0], because: string])[] = [
      [({ method }) => (method === 'eth_getProof' ? unknown : undefined), 'no endpoint proves that block'],
      [
        ({ method }) =>
          method === 'eth_getProof' ? refuses('distance to target block exceeds maximum proof window') : undefined,
        'no endpoint proves that block',
      ],
      [
        ({ method }) => (method === 'eth_getProof' ? refuses('missing trie node') : undefined),
        'no endpoint proves that block',
      ],
      [
        ({ method }) => (method === 'eth_getProof' ? { kind: 'change', change: garbled } : undefined),
        'does not prove that block',
      ],
      [
        ({ method, params }) =>
          method === 'eth_getBlockByHash' && params[1] === false
            ? { kind: 'change', change: (result) => ({ ...(result as object), extraData: '0x1234' }) }
            : undefined,
        'does not hash to its hash',
      ],
    ]
    for (const [rule, because] of cases) {
      rpc.rule(rule)
      const here = stageOver([rowOver([rpc.url])])
      const { status, body, headers } = await here.get(`${position}&receipt=proof`)
      expect([status, body.error.code, body.error.message]).toEqual([
        503,
        'SERVICE_UNAVAILABLE',
        expect.stringContaining(because),
      ])
      expect(body.error.message).toContain('chain 1 (Ethereum)')
      expect(headers.get('x-credits-charged')).toBe('0')
      // What it cannot prove it still reads.
      const height = await devnet.client.getBlockNumber()
      expect((await here.get(`${position}&chain_id=1&at_block=${height}`)).status).toBe(200)
    }
    // Another endpoint that does is asked.
    rpc.rule(({ method }) => (method === 'eth_getProof' ? unknown : undefined))
    const both = stageOver([rowOver([rpc.url, devnet.rpcUrl])])
    expect((await both.get(`${position}&receipt=proof`)).status).toBe(200)
  }, 120_000)
})

function requireLending(): SharedAave {
  if (lending === undefined) throw new Error('Expected a chain with Aave')
  return lending
}

/** An account of Aave, behind an endpoint of its own. */
async function accountScene() {
  const { devnet: chain, aave } = requireLending()
  const path = `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`
  return { node: await startFaultyRpc(chain.rpcUrl), chain, path }
}

/** Witness of a call as Nethermind's `proof_call` returns it, built from the same call on this node. */
async function readWitness({ rpc }: Pick<Devnet, 'rpc'>, [transaction, block]: readonly unknown[]) {
  const touched = await rpc.call<
    Readonly<Record<Hex, { readonly code?: Hex; readonly storage?: Readonly<Record<Hex, Hex>> }>>
  >('debug_traceCall', transaction, block, { tracer: 'prestateTracer' })
  const [state, codes] = [new Set<Hex>(), new Set<Hex>()]
  for (const [address, { code = '0x', storage = {} }] of Object.entries(touched)) {
    if (code !== '0x') codes.add(code)
    const { accountProof, storageProof } = await rpc.call<{
      readonly accountProof: readonly Hex[]
      readonly storageProof: readonly { readonly proof: readonly Hex[] }[]
    }>('eth_getProof', address, Object.keys(storage), block)
    for (const node of [...accountProof, ...storageProof.flatMap(({ proof }) => proof)]) state.add(node)
  }
  return { state: [...state], codes: [...codes], keys: [], headers: [] }
}

describe('a proven receipt', () => {
  let receipt: Envelope
  let payload: Payload

  beforeAll(async () => {
    stage = stageOver([rowOver([devnet.rpcUrl])])
    const answer = await stage.get(`/v1/lending/morpho-blue/position/1/yield?${marketQuery()}&receipt=proof`)
    receipt = answer.body.receipt
    payload = decodePayload(receipt)
  })

  /** Signed by a dishonest instance. */
  const lied = (change: (proof: Proof, payload: Payload) => unknown): string => {
    const copy = decodePayload(receipt)
    change(getProof(copy), copy)
    return encodeReceipt(signEnvelope(PAYLOAD_TYPE, JSON.stringify(copy), stage.signer))
  }
  const verdict = async (text: string) => (await checked(stage, text, [], believed(receipt))).is

  test('is minimal: each node and code dropped, or a bit of it flipped, is refused', async () => {
    const { nodes, codes } = getProof(payload)
    expect(nodes.length).toBeGreaterThan(30)
    for (const [name, list] of [
      ['nodes', nodes],
      ['codes', codes],
    ] as const) {
      for (let at = 0; at < list.length; at += IS_FULL ? 1 : 9) {
        expect([name, at, await verdict(lied((proof) => proof[name].splice(at, 1)))]).toEqual([name, at, 'false'])
        const flip = lied((proof) => {
          proof[name][at] = flipBit(list[at] ?? '0x', at * 7)
        })
        expect([name, at, await verdict(flip)]).toEqual([name, at, 'false'])
      }
      expect(await verdict(lied((proof) => proof[name].push(list[0] ?? '0x')))).toBe('false')
      expect(await verdict(lied((proof) => proof[name].push('0xc0')))).toBe('false')
      expect(await verdict(lied((proof) => proof[name].reverse()))).toBe('true')
    }
  }, 120_000)

  test('is of its block: no other header, no bit of it, no other block for its header', async () => {
    const { header } = getProof(payload)
    for (let at = 0; at < header.length - 2; at += IS_FULL ? 13 : 97) {
      const other = lied((proof) => {
        proof.header = flipBit(header, at)
      })
      expect([at, await verdict(other)]).toEqual([at, 'false'])
    }
    await devnet.rpc.call('evm_mine')
    const next = await stage.get(`/v1/lending/morpho-blue/position/1/yield?${marketQuery()}&receipt=proof`)
    const later = decodePayload(next.body.receipt)
    const { header: newer, nodes } = getProof(later)
    expect(await verdict(lied((proof) => Object.assign(proof, { header: newer })))).toBe('false')
    expect(await verdict(lied((proof) => Object.assign(proof, { nodes })))).toBe('false')
    const withAll = lied((_, copy) => Object.assign(copy, { proofs: later.proofs }))
    expect(await verdict(withAll)).toBe('false')
    // A whole receipt of another block is not of the one that is believed.
    expect(await verdict(encodeReceipt(next.body.receipt))).toBe('false')
    for (const name of ['number', 'timestamp'] as const) {
      const moved = lied((_, { reads: [read] }) => read && read.block[name]++)
      expect([name, await verdict(moved)]).toEqual([name, 'false'])
    }
  })

  test('proves the raw bytes, whether figures use them or not', async () => {
    const { answer = '0x' } = payload.reads[0]?.calls[0] ?? {}
    for (let at = 116; at < answer.length - 2; at += IS_FULL ? 37 : 301) {
      const lie = lied((_, { reads: [read] }) => {
        const [call] = read?.calls ?? []
        if (call !== undefined) call.answer = flipBit(answer, at)
      })
      expect([at, await verdict(lie)]).toEqual([at, 'false'])
    }
  }, 60_000)

  test('takes no presence for absence, no foreign code, no other chain, no other level', async () => {
    const { codes } = getProof(payload)
    const foreign = lied((proof) => Object.assign(proof, { codes: codes.map(() => '0x600160005260206000f3') }))
    expect(await verdict(foreign)).toBe('false')
    expect(await verdict(lied((proof) => Object.assign(proof, { chain_id: 10 })))).toBe('false')
    expect(await verdict(lied((_, copy) => Object.assign(copy, { proofs: [] })))).toBe('false')
    expect(await verdict(lied((_, copy) => Object.assign(copy, { level: 'replayable' })))).toBe('false')
    expect(await verdict(lied((_, copy) => delete copy.proofs))).toBe('false')
    // An empty trie for a root that is not one.
    expect(await verdict(lied((proof) => Object.assign(proof, { nodes: ['0x80'] })))).toBe('false')
    const deep = `0x${'f9ffff'.repeat(20_000)}` as const
    expect(await verdict(lied((proof) => proof.nodes.push(deep)))).toBe('false')
    expect(await verdict(lied((proof) => proof.nodes.push(`0x${'00'.repeat(3_000_000)}`)))).toBe('false')
    expect(await verdict(encodeReceipt(receipt))).toBe('true')
  })

  test('random changes are refused', async () => {
    const { below, pick } = createRandom(2_323)
    const count = caseCount(1_000, 30)
    for (let index = 0; index < count; index++) {
      const change = lied((proof, { reads: [read] }) => {
        const list = pick([proof.nodes, proof.nodes, proof.codes])
        const [at, bit] = [below(list.length), below(2_000)]
        const item = list[at] ?? '0x'
        const [call] = read?.calls ?? []
        if (call === undefined) throw new Error('Expected a call')
        pick<() => unknown>([
          () => list.splice(at, 1, flipBit(item, bit)),
          () => list.splice(at, 1, `${item}00`),
          () => list.splice(at, 1, list[at + 1] ?? '0x'),
          () => list.splice(at, 1),
          () => Object.assign(call, { data: flipBit(call.data, bit) }),
          () => Object.assign(call, { answer: flipBit(call.answer, 116 + bit) }),
        ])()
      })
      expect([index, await verdict(change)]).not.toEqual([index, 'true'])
    }
  }, 600_000)
})

test('an Arbitrum chain gives its height by ArbSys, whose answers follow from the header', async () => {
  const own = await startDevnet()
  // What stands there on Arbitrum; here it runs nothing, and a lens then asks the block, which is the same on Ethereum.
  await own.rpc.call('anvil_setCode', `0x${'64'.padStart(40, '0')}`, '0xfe')
  await own.rpc.call('evm_mine')
  const here = stageOver([rowOver([own.rpcUrl])])
  const { status, body } = await here.get(`/v1/positions/uniswap-v3/${own.positions.good}?chain_id=1&receipt=proof`)
  expect(status).toBe(200)
  const [proof] = decodePayload(body.receipt).proofs ?? []
  expect(proof?.codes).not.toContain(keccak256('0xfe'))
  expect((await checked(here, encodeReceipt(body.receipt))).is).toBe('true')
  await own.stop()
}, 60_000)

type Proof = NonNullable<Payload['proofs']>[number]

function getProof({ proofs: [proof] = [] }: Payload): Proof {
  if (proof === undefined) throw new Error('Expected a proof')
  return proof
}

/** Hexadecimal with one bit of a digit changed. */
function flipBit(text: Hex, at: number): Hex {
  const index = 2 + (at % (text.length - 2))
  const digit = (Number.parseInt(text[index] ?? '0', 16) ^ 1).toString(16)
  return `0x${text.slice(2, index)}${digit}${text.slice(index + 1)}`
}

function marketQuery(): string {
  return `wallet=${morpho.wallets.both}&market_id=${morpho.markets.wethUsdc.id}`
}

async function total(wallet: string): Promise<number> {
  const { body } = await stage.get(`/v1/positions/uniswap-v3?wallet=${wallet}&limit=1`)
  return body.pagination.total
}

async function swap(amountIn: bigint): Promise<void> {
  const pool = Object.values(devnet.pools)[0]
  if (pool === undefined) throw new Error('Expected a pool')
  await devnet.v3.swap({ pool, tokenIn: pool.token0, amountIn })
}
