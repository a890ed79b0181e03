import { beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { version } from '../../../package.json'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type Envelope, signEnvelope } from '../../../src/lib/dsse.ts'
import { listDifferences } from '../../../src/receipt/differences.ts'
import { PAYLOAD_TYPE, type Payload } from '../../../src/receipt/payload.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { createRandom } from '../../devnet/random.ts'
import { caseCount } from '../../support/cases.ts'
import {
  checked,
  decodePayload,
  encodeReceipt,
  newSigner,
  published,
  rowOver,
  runner,
  type Stage,
  stageOver,
} from './stage.ts'

let devnet: Devnet
let aave: AaveDevnet
let morpho: MorphoDevnet
let stage: Stage
/** Receipts of three families, by what they are of. */
let receipts: Readonly<Record<'position' | 'list' | 'lending' | 'market' | 'past', Envelope>>

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  morpho = await devnet.morpho()
  stage = stageOver([rowOver([devnet.rpcUrl])])
  const height = await devnet.client.getBlockNumber()
  const get = async (path: string): Promise<Envelope> => {
    const { status, body, text } = await stage.get(`${path}&receipt=true`)
    if (status !== 200) throw new Error(text)
    return body.receipt
  }
  const { good } = devnet.positions
  const { wethUsdc } = morpho.markets
  receipts = {
    position: await get(`/v1/positions/uniswap-v3/${good}?chain_id=1`),
    list: await get(`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=3&page=2`),
    lending: await get(`/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`),
    market: await get(
      `/v1/lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.both}&market_id=${wethUsdc.id}`,
    ),
    past: await get(`/v1/positions/uniswap-v3/${good}?chain_id=1&at_block=${height - 2n}`),
  }
}, 240_000)

/** The receipt with a changed payload, under the signature of the unchanged one. */
function altered(receipt: Envelope, change: (payload: Payload) => unknown): Envelope {
  return { ...receipt, payload: Buffer.from(JSON.stringify(changed(receipt, change))).toString('base64') }
}

/** The same, signed by a dishonest instance. */
function lied(receipt: Envelope, change: (payload: Payload) => unknown): Envelope {
  return signEnvelope(PAYLOAD_TYPE, JSON.stringify(changed(receipt, change)), stage.signer)
}

function changed(receipt: Envelope, change: (payload: Payload) => unknown): Payload {
  const payload = decodePayload(receipt)
  const result = change(payload)
  return result === undefined ? payload : (result as Payload)
}

function getRead({ reads: [read] }: Payload) {
  if (read === undefined) throw new Error('Expected a read')
  return read
}

function getChain({ chains: [chain] }: Payload['settings']): Record<string, unknown> {
  if (chain === undefined) throw new Error('Expected a chain')
  return chain
}

function getCall(payload: Payload) {
  const [call] = getRead(payload).calls
  if (call === undefined) throw new Error('Expected a call')
  return call
}

/** The digit at an index, counted from the end if it is negative, as another one. */
function flipped<Text extends string>(text: Text, at: number): Text {
  const index = at < 0 ? text.length + at : at
  const digit = text[index] === '0' ? '1' : '0'
  return `${text.slice(0, index)}${digit}${text.slice(index + 1)}` as Text
}

test('whole receipts are accepted', async () => {
  for (const receipt of Object.values(receipts)) expect((await checked(stage, encodeReceipt(receipt))).is).toBe('true')
})

describe('the envelope', () => {
  const is = async (receipt: unknown, from: Pick<Stage, 'signer'> = stage) =>
    (await checked(from, JSON.stringify(receipt))).is

  test('of another signature, another key, another type, or with more in it', async () => {
    const { position } = receipts
    const [signature] = position.signatures
    if (signature === undefined) throw new Error('Expected a signature')
    const sig = `${signature.sig.startsWith('A') ? 'B' : 'A'}${signature.sig.slice(1)}`
    expect(await is({ ...position, signatures: [{ ...signature, sig }] })).toBe('false')
    expect(await is({ ...position, signatures: [{ ...signature, keyid: '0'.repeat(16) }] })).toBe('false')
    expect(await is({ ...position, signatures: [] })).toBe('false')
    expect(await is({ ...position, signatures: [signature, signature] })).toBe('false')
    expect(await is({ ...position, payloadType: 'application/json' })).toBe('false')
    expect(await is({ ...position, more: 1 })).toBe('false')
    expect(await is(position, { signer: newSigner() })).toBe('false')
    // Signed as another type, and said to be of this one.
    const other = signEnvelope('application/json', Buffer.from(position.payload, 'base64').toString(), stage.signer)
    expect(await is({ ...other, payloadType: PAYLOAD_TYPE })).toBe('false')
  })

  test('of a key that is retired, as long as it signed before', async () => {
    const { verifyReceipt } = await import('../../../src/receipt/verify.ts')
    const clock = systemClock
    const work = createWork(new AbortController().signal)
    const nowSec = Math.floor(Date.now() / 1_000)
    const under = async (times: { readonly fromSec: number; readonly untilSec?: number }) => {
      const keys = [published({ signer: newSigner() }), published(stage, times)]
      const evidence = { keys, rpcUrls: [], blockHashes: new Map(), clock, work, runner }
      return (await verifyReceipt(encodeReceipt(receipts.position), evidence)).verdicts.signature.is
    }
    expect(await under({ fromSec: nowSec - 86_400, untilSec: nowSec + 60 })).toBe('true')
    expect(await under({ fromSec: nowSec - 86_400, untilSec: nowSec - 43_200 })).toBe('false')
    expect(await under({ fromSec: nowSec + 43_200 })).toBe('false')
  })

  test('with a changed byte anywhere in its payload', async () => {
    const bytes = Buffer.from(receipts.position.payload, 'base64')
    for (let at = 0; at < bytes.length; at += 97) {
      const other = Buffer.from(bytes)
      other[at] = (other[at] ?? 0) ^ 1
      expect([at, await is({ ...receipts.position, payload: other.toString('base64') })]).toEqual([at, 'false'])
    }
  })

  test('with another field', async () => {
    const more = (payload: Payload) => ({ ...payload, more: 1 })
    expect(await is(lied(receipts.position, more))).toBe('false')
  })
})

/** Forgeries by an instance, each with the check that detects it. */
const LIES: readonly (readonly [what: string, of: keyof typeof receipts, change: (payload: Payload) => unknown])[] = [
  [
    'a figure’s last digit',
    'market',
    ({ answer }) => {
      const data = answer.data as { net_apy: string }
      data.net_apy = flipped(data.net_apy, -1)
    },
  ],
  [
    'a figure of a list',
    'list',
    ({ answer }) => {
      const counts = answer.counts as { total: number }
      counts.total += 1
    },
  ],
  [
    'call data for another wallet',
    'list',
    (payload) => {
      const call = getCall(payload)
      call.data = call.data.replace(
        devnet.wallets.provider.slice(2).toLowerCase(),
        toWalletAddress('somebody else').slice(2).toLowerCase(),
      ) as Hex
    },
  ],
  [
    'an answer for another wallet',
    'lending',
    (payload) => {
      payload.request.query = payload.request.query.replace(aave.wallets.borrower, aave.wallets.emode)
    },
  ],
  [
    'a feed swapped',
    'market',
    ({ settings }) => {
      const { usdFeeds } = getChain(settings)['prices'] as { usdFeeds: Record<string, string> }
      usdFeeds[TOKENS.weth.address] = TOKENS.wbtc.feed
    },
  ],
  [
    'a feed left out',
    'market',
    ({ settings }) => {
      const { usdFeeds } = getChain(settings)['prices'] as { usdFeeds: Record<string, string> }
      delete usdFeeds[TOKENS.weth.address]
    },
  ],
  [
    'no prices, which it needs',
    'market',
    ({ settings }) => {
      delete getChain(settings)['prices']
    },
  ],
  [
    'another manager',
    'position',
    ({ settings }) => {
      const [row] = getChain(settings)['uniswapV3'] as { manager: string }[]
      if (row !== undefined) row.manager = toWalletAddress('manager')
    },
  ],
  [
    'another market',
    'lending',
    ({ settings }) => {
      const markets = getChain(settings)['aaveV3'] as unknown[]
      markets.pop()
    },
  ],
  [
    'a chain more',
    'lending',
    ({ settings }) => {
      settings.chains.push({ ...settings.chains[0], id: 10 })
    },
  ],
  [
    'a URL in the settings',
    'position',
    ({ settings }) => {
      const [chain] = settings.chains
      if (chain !== undefined) chain['rpcUrls'] = ['http://127.0.0.1:1']
      return undefined
    },
  ],
  [
    'the lens altered',
    'position',
    (payload) => {
      getCall(payload).lens = flipped(getCall(payload).lens, 9)
    },
  ],
  [
    'a call dropped',
    'position',
    (payload) => {
      getRead(payload).calls.pop()
    },
  ],
  [
    'a call repeated',
    'position',
    (payload) => {
      getRead(payload).calls.push(getCall(payload))
    },
  ],
  [
    'a read repeated',
    'position',
    (payload) => {
      payload.reads.push(getRead(payload))
    },
  ],
  [
    'a read dropped',
    'position',
    (payload) => {
      payload.reads.pop()
    },
  ],
  [
    'a call added',
    'position',
    (payload) => {
      getRead(payload).calls.push({ ...getCall(payload), data: '0x00' })
    },
  ],
  [
    'a result dropped',
    'past',
    (payload) => {
      getRead(payload).headers.pop()
    },
  ],
  [
    'a result repeated',
    'past',
    (payload) => {
      const { headers } = getRead(payload)
      if (headers[0] !== undefined) headers.push(headers[0])
    },
  ],
  [
    'another query',
    'list',
    (payload) => {
      payload.request.query += '&status=inactive'
    },
  ],
  [
    'another page',
    'list',
    ({ request }) => {
      request.query = request.query.replace('page=2', 'page=1')
    },
  ],
  [
    'another block in the query',
    'past',
    ({ request }) => {
      request.query = request.query.replace('at_block=', 'at_block=1')
    },
  ],
  [
    'another chain',
    'market',
    ({ request }) => {
      request.path = request.path.replace('/1/', '/10/')
    },
  ],
  [
    'another chain of the read',
    'position',
    (payload) => {
      getRead(payload).chain_id = 10
    },
  ],
  [
    'another path',
    'position',
    ({ request }) => {
      request.path += '1'
    },
  ],
  [
    'another method',
    'position',
    ({ request }) => {
      request.method = 'POST'
    },
  ],
  [
    'another family',
    'position',
    ({ family }) => {
      family.name = 'aave-v3'
    },
  ],
  [
    'another number of the block',
    'position',
    (payload) => {
      getRead(payload).block.number += 1
    },
  ],
  [
    'another time of the block',
    'position',
    (payload) => {
      getRead(payload).block.timestamp += 1
    },
  ],
  [
    'another parent of the block',
    'position',
    (payload) => {
      getRead(payload).block.parent_hash = flipped(getRead(payload).block.parent_hash, 9)
    },
  ],
  [
    'figures that it says it does not cover',
    'position',
    ({ uncovered }) => {
      uncovered.push('data')
    },
  ],
]

describe('a receipt with', () => {
  for (const [what, of, change] of LIES) {
    test(`${what} is refused by its signature, and even if the instance signs it`, async () => {
      expect(encodeReceipt(altered(receipts[of], change))).not.toBe(encodeReceipt(receipts[of]))
      expect((await checked(stage, encodeReceipt(altered(receipts[of], change)))).is).toBe('false')
      const { is, verdicts } = await checked(stage, encodeReceipt(lied(receipts[of], change)))
      expect([what, is, verdicts.signature.is]).toEqual([what, 'false', verdicts.signature.is])
    })
  }

  test('a receipt of another revision is of another release, so the result is unknown', async () => {
    const other = (payload: Payload) => {
      payload.family.revision += 1
    }
    expect((await checked(stage, encodeReceipt(altered(receipts.position, other)))).is).toBe('false')
    const { is, verdicts } = await checked(stage, encodeReceipt(lied(receipts.position, other)))
    expect([is, verdicts.figures.is]).toEqual(['unknown', 'unknown'])
    expect(verdicts.figures.because).toContain(`is known to release ${version}`)
  })

  test('a widened heartbeat or an added stablecoin appears in the differences from the built-in rows', () => {
    const wide = changed(receipts.market, ({ settings }) => {
      const prices = getChain(settings)['prices'] as { usdFeeds: Record<string, unknown>; stablecoins: string[] }
      prices.usdFeeds[TOKENS.weth.address] = { feed: TOKENS.weth.feed, heartbeatSec: 999_999 }
      prices.stablecoins.push(TOKENS.wbtc.address)
    })
    const text = listDifferences(wide).join('\n')
    expect(text).toContain('heartbeatSec: 999999, built in 3600')
    expect(text).toContain(`stablecoins: ["${TOKENS.wbtc.address}"]`)
    const signed = altered(receipts.market, () => wide)
    return checked(stage, encodeReceipt(signed)).then(({ is }) => expect(is).toBe('false'))
  })

  test('a flipped raw bit is detected by any endpoint, whether figures use it or not', async () => {
    const { answer } = getCall(decodePayload(receipts.position))
    let silent = 0
    let unused: Envelope | undefined
    for (let at = 116 + 8; at < answer.length; at += 61) {
      const lie = lied(receipts.position, (payload) => {
        getCall(payload).answer = flipped(answer, at)
      })
      if ((await checked(stage, encodeReceipt(lie))).is === 'true') {
        silent++
        unused ??= lie
      }
      const { is } = await checked(stage, encodeReceipt(lie), [devnet.rpcUrl])
      expect([at, is]).toEqual([at, 'false'])
    }
    expect(silent).toBeGreaterThan(3)
    if (unused === undefined) throw new Error('Expected a bit that no figure uses')
    // An endpoint that says nothing hides it from no other.
    for (const rpcUrls of [
      ['http://127.0.0.1:9', devnet.rpcUrl],
      [devnet.rpcUrl, 'http://127.0.0.1:9'],
    ]) {
      const { verdicts, is } = await checked(stage, encodeReceipt(unused), rpcUrls)
      expect([verdicts.answers.is, is]).toEqual(['false', 'false'])
    }
  }, 60_000)

  test('the hash of a sibling block is detected by any endpoint, and by a given block hash', async () => {
    const sibling = (payload: Payload) => {
      getRead(payload).block.hash = flipped(getRead(payload).block.hash, 9)
    }
    const { verdicts, is } = await checked(stage, encodeReceipt(lied(receipts.position, sibling)), [devnet.rpcUrl])
    expect([is, verdicts.block.is]).toEqual(['unknown', 'unknown'])
    const { verifyReceipt } = await import('../../../src/receipt/verify.ts')
    const clock = systemClock
    const { hash } = getRead(decodePayload(receipts.position)).block
    const given = { keys: [published(stage)], rpcUrls: [], blockHashes: new Map([[1, hash]]), clock }
    const work = createWork(new AbortController().signal)
    expect((await verifyReceipt(encodeReceipt(receipts.position), { ...given, work, runner })).is).toBe('true')
    expect((await verifyReceipt(encodeReceipt(lied(receipts.position, sibling)), { ...given, work, runner })).is).toBe(
      'false',
    )
  })

  test('another answer beside it is refused', async () => {
    const { body } = await stage.get(`/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1&receipt=true`)
    expect((await checked(stage, JSON.stringify(body))).is).toBe('true')
    body.data.position_state.liquidity += '0'
    expect((await checked(stage, JSON.stringify(body))).is).toBe('false')
  })
})

test('random changes are refused unless the payload stays the same', async () => {
  const count = caseCount(10_000, 120)
  const { below, pick } = createRandom(1_101)
  const all = Object.values(receipts)
  let accepted = 0
  for (let index = 0; index < count; index++) {
    const receipt = pick(all)
    const text = mutated(encodeReceipt(receipt), { below, pick })
    const { is, payload } = await checked(stage, text)
    expect(['true', 'false', 'unknown']).toContain(is)
    if (is !== 'true') continue
    accepted++
    expect(JSON.stringify(payload)).toBe(JSON.stringify(decodePayload(receipt)))
  }
  // White space between the words of the envelope, at most.
  expect(accepted).toBeLessThan(count / 20)
}, 600_000)

/** A text with bytes changed, dropped, added, repeated or moved; every other time inside of what is signed. */
function mutated(text: string, { below, pick }: ReturnType<typeof createRandom>): string {
  const envelope = JSON.parse(text) as Envelope
  const inside = below(2) === 0
  let bytes: Buffer = inside ? Buffer.from(envelope.payload, 'base64') : Buffer.from(text)
  for (let times = 1 + below(3); times > 0; times--) {
    const [at, length] = [below(bytes.length), 1 + below(40)]
    const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at + length)]
    bytes = pick<() => Buffer>([
      () => Buffer.concat([before, after]),
      () => Buffer.concat([before, part, part, after]),
      () => Buffer.concat([before, Buffer.from(part).reverse(), after]),
      () => Buffer.concat([before, Buffer.from(pick(['0', '"', '{', ' ', '\\', '9', 'f', '\u0000'])), part, after]),
      () => {
        const other = Buffer.from(bytes)
        other[at] = (other[at] ?? 0) ^ (1 << below(8))
        return other
      },
    ])()
  }
  return inside ? JSON.stringify({ ...envelope, payload: bytes.toString('base64') }) : bytes.toString()
}

test('input that nests, or is no receipt at all, ends at once', async () => {
  const deep = (text: string, times: number) => text.repeat(times)
  const inside = (payload: string) => ({ ...receipts.position, payload: Buffer.from(payload).toString('base64') })
  const odd = [
    ...['', 'null', '1', '[]', '{}', '{"receipt":null}', '{"receipt":{}}', '\u0000'],
    deep('[', 5_000_000),
    deep('{"receipt":', 1_000_000),
    JSON.stringify(inside(deep('[', 3_000_000))),
    JSON.stringify(inside(`{"id":${deep('{"a":', 500_000)}`)),
    JSON.stringify({ ...receipts.position, payload: deep('A', 60_000_000) }),
    `"${deep('[', 1_000_000)}"`,
  ]
  for (const text of odd) expect((await checked(stage, text)).is).toBe('false')
})
