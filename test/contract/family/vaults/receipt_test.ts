import { afterAll, beforeAll, expect, test } from 'bun:test'
import { signEnvelope } from '../../../../src/lib/dsse.ts'
import { PAYLOAD_TYPE } from '../../../../src/receipt/payload.ts'
import { getTimeSec } from '../../../devnet/vaults/record.ts'
import { WORLDS, type World } from '../../../devnet/vaults/vectors.ts'
import { checked, decodePayload, encodeReceipt, rowOver, type Stage, stageOver } from '../../receipt/stage.ts'
import { placeWorld, type ReplayedChain, startReplayedChain, toEntries } from './support.ts'

const LIMIT_MS = 120_000
const [world] = WORLDS as [World]
const [holder] = world.holders

let chain: ReplayedChain
let stage: Stage

beforeAll(async () => {
  chain = await startReplayedChain()
  await placeWorld(chain, world)
  await chain.mineAt(getTimeSec(world))
  stage = stageOver([rowOver([chain.anvil.rpcUrl], { vaults: toEntries(world) })])
}, LIMIT_MS)
afterAll(async () => {
  await stage?.close()
  await chain?.anvil.stop()
}, LIMIT_MS)

test(
  'a receipt of a list comes to the same figures, and of none that was changed',
  async () => {
    const path = `/v1/positions/vaults?wallet=${holder?.wallet}&chain_id=1&receipt=true`
    const { status, body, headers } = await stage.get(path)
    expect([status, headers.get('x-credits-charged')]).toEqual([200, String(2 * body.data.length + 2)])
    const { verdicts } = await checked(stage, encodeReceipt(body.receipt), [chain.anvil.rpcUrl])
    expect(Object.values(verdicts).map((each) => each.is)).toEqual(Array(5).fill('true'))
    const payload = JSON.stringify(decodePayload(body.receipt)).replaceAll(body.data[0].assets.raw, '1')
    const lie = signEnvelope(PAYLOAD_TYPE, payload, stage.signer)
    expect((await checked(stage, encodeReceipt(lie), [chain.anvil.rpcUrl])).verdicts.figures.is).toBe('false')
  },
  LIMIT_MS,
)
