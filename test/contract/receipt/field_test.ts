import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Envelope, signEnvelope } from '../../../src/lib/dsse.ts'
import { listDifferences } from '../../../src/receipt/differences.ts'
import { PAYLOAD_TYPE, type Payload, parsePayload } from '../../../src/receipt/payload.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { IS_FULL } from '../../support/cases.ts'
import { SLOT, scene } from '../../support/kamino_scene.ts'
import { KAMINO_PATHS } from '../../support/receipt/golden/kamino.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { checked, decodePayload, encodeReceipt, newSigner, rowOver, type Stage, stageOver } from './stage.ts'

/** Fields that only the signature stands for, as the guide says. */
const SIGNED_ALONE = ['id', 'issued_at', 'version', 'reads[].agreed']

const BLOCK_SEC = 12

let devnet: Devnet
let rpc: FaultyRpc
let stage: Stage
let receipts: Readonly<Record<string, Envelope>>
const double = startSolanaDouble({ slot: SLOT, accounts: scene() })

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 7_200 })
  rpc = await startFaultyRpc(devnet.rpcUrl)
  const signer = newSigner()
  stage = stageOver([rowOver([devnet.rpcUrl])], signer)
  const agreeing = stageOver([rowOver([devnet.rpcUrl, rpc.url], { quorum: 2 })], signer)
  const solana = stageOver([], signer, { solanaUrl: double.url })
  const { morpho, path } = { morpho: await devnet.morpho(), path: `/v1/positions/uniswap-v3/${devnet.positions.good}` }
  for (let block = 0; block < 3; block++) {
    await devnet.rpc.call('evm_increaseTime', BLOCK_SEC)
    await devnet.rpc.call('evm_mine')
  }
  const { number, timestamp } = await devnet.client.getBlock()
  const market = `wallet=${morpho.wallets.both}&market_id=${morpho.markets.wethUsdc.id}`
  const get = async (from: Stage, asked: string) => {
    const { status, body, text } = await from.get(asked)
    if (status !== 200) throw new Error(text)
    return body.receipt
  }
  receipts = {
    'signed: risk': await get(solana, `${KAMINO_PATHS.kamino_risk}&receipt=true`),
    'replayable: at_time': await get(stage, `${path}?chain_id=1&at_time=${Number(timestamp) - 20}&receipt=true`),
    'replayable: page': await get(
      stage,
      `/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=2&page=2&receipt=true`,
    ),
    'replayable: prices': await get(stage, `/v1/lending/morpho-blue/position/1/yield?${market}&receipt=true`),
    'agreed: at_block': await get(agreeing, `${path}?chain_id=1&at_block=${number - 1n}&receipt=true`),
    'proven: at_block': await get(stage, `${path}?chain_id=1&at_block=${number - 1n}&receipt=proof`),
  }
}, 240_000)

afterAll(async () => {
  await Promise.all([rpc?.stop(), devnet?.stop(), double.stop()])
}, 60_000)

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
interface Change {
  /** Path of a field, its indices left out. */
  readonly field: string
  readonly payload: Payload
}

/** Other values of a field of the same kind, so that its form alone does not betray it. */
function listOthers(value: Json, field: string): readonly Json[] {
  if (field === 'id') return [`rcp_${'0'.repeat(26)}`]
  if (field === 'issued_at') return ['2026-01-01T00:00:00.000Z']
  if (field === 'level') return ['signed', 'replayable', 'agreed', 'proven'].filter((level) => level !== value)
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return [value + 1, ...(value > 0 ? [value - 1] : [])]
  if (value === null) return ['0']
  if (Array.isArray(value)) return value.length === 0 ? [['data']] : [value.slice(0, -1), [...value, value[0] ?? null]]
  if (typeof value === 'object') return Object.keys(value).map((key) => omitKey(value, key))
  if (value === '' || value === '0x') return [`${value}00`]
  const digits = [...value.matchAll(/\d/g)].map(({ index }) => index)
  const at = [digits[Math.floor(digits.length / 2)], digits.at(-1)].filter((index) => index !== undefined)
  return at.length === 0 ? [`${value}x`] : at.map((index) => replaceDigit(value, index))
}

function takeOnePerField(changes: readonly Change[]): readonly Change[] {
  return [...new Map(changes.map((change) => [change.field, change])).values()]
}

/** Of a proven receipt one of nine, of the others one of four, and each with `SEEDS=full`. */
function takeShare(changes: readonly Change[], level: string | undefined): readonly Change[] {
  const share = IS_FULL ? 1 : level === 'proven' ? 9 : 4
  return changes.filter((_, index) => index % share === 0)
}

/** True if another time means the same block: what the receipt says of it is true. */
function meansSameBlock({ field, payload: { request, reads } }: Change): boolean {
  const atSec = Number(new URLSearchParams(request.query).get('at_time'))
  const { timestamp = 0 } = reads[0]?.block ?? {}
  return field === 'request.query' && atSec >= timestamp && atSec < timestamp + BLOCK_SEC
}

function omitKey(value: { [key: string]: Json }, key: string): Json {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}

function replaceDigit(text: string, index: number): string {
  return `${text.slice(0, index)}${text[index] === '1' ? '2' : '1'}${text.slice(index + 1)}`
}

/** Every field of a payload changed, in each of the first and last item of a list. */
function listChanges(payload: Payload): readonly Change[] {
  const changes: Change[] = []
  const walk = (value: Json, field: string, replace: (other: Json) => Json): void => {
    for (const other of listOthers(value, field)) changes.push({ field, payload: replace(other) as unknown as Payload })
    if (Array.isArray(value)) {
      for (const index of new Set([0, value.length - 1])) {
        const item = value[index]
        if (item !== undefined) walk(item, `${field}[]`, (other) => replace(value.toSpliced(index, 1, other)))
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        walk(item, field === '' ? key : `${field}.${key}`, (other) => replace({ ...value, [key]: other }))
      }
    }
  }
  walk(JSON.parse(JSON.stringify(payload)) as Json, '', (other) => other)
  return changes
}

for (const name of [
  'signed: risk',
  'replayable: at_time',
  'replayable: page',
  'replayable: prices',
  'agreed: at_block',
  'proven: at_block',
]) {
  const level = name.split(':')[0]
  describe(`a receipt at level ${name}`, () => {
    test('is true, and with any field changed it is false by its signature', async () => {
      const receipt = receipts[name] as Envelope
      const payload = decodePayload(receipt)
      expect([payload.level as string, (await checked(stage, encodeReceipt(receipt))).is]).toEqual([
        level ?? '',
        'true',
      ])
      for (const change of takeShare(takeOnePerField(listChanges(payload)), level)) {
        const text = encodeReceipt({
          ...receipt,
          payload: Buffer.from(JSON.stringify(change.payload)).toString('base64'),
        })
        const { is } = await checked(stage, text)
        expect([change.field, is]).toEqual([change.field, 'false'])
      }
    }, 240_000)

    if (level === 'signed') return
    test('is not true by an endpoint if the instance lies about any field but those that the guide names', async () => {
      const payload = decodePayload(receipts[name] as Envelope)
      const hashes = new Map(payload.reads.map(({ chain_id, block }) => [chain_id, block.hash]))
      const accepted = new Set<string>()
      // A proof takes half a second.
      const isDear = level === 'proven' || !IS_FULL
      const changes = takeShare(isDear ? takeOnePerField(listChanges(payload)) : listChanges(payload), level)
      for (const change of changes) {
        if (parsePayload(JSON.parse(JSON.stringify(change.payload))) === undefined) continue
        const text = encodeReceipt(signEnvelope(PAYLOAD_TYPE, JSON.stringify(change.payload), stage.signer))
        const { is } = await checked(stage, text, [devnet.rpcUrl], hashes)
        if (is !== 'true' || SIGNED_ALONE.includes(change.field) || meansSameBlock(change)) continue
        // Settings that decide nothing here are in the report.
        const isReported =
          change.field.startsWith('settings.') &&
          JSON.stringify(listDifferences(change.payload)) !== JSON.stringify(listDifferences(payload))
        if (!isReported) accepted.add(`${change.field}: ${JSON.stringify(change.payload.request)}`)
      }
      expect([...accepted]).toEqual([])
    }, 240_000)
  })
}
