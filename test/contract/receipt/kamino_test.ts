import { afterAll, expect, test } from 'bun:test'
import { createWork } from '../../../src/lib/async/work.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { SLOT, scene } from '../../support/kamino_scene.ts'
import { KAMINO_PATHS } from '../../support/receipt/golden/kamino.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { slowClock } from '../../support/test_clock.ts'
import { checked, decodePayload, encodeReceipt, newSigner, published, runner, stageOver } from './stage.ts'

const double = startSolanaDouble({ slot: SLOT, accounts: scene() })
const stage = stageOver([], newSigner(), { solanaUrl: double.url })
afterAll(() => double.stop(), 60_000)

for (const [name, path] of Object.entries(KAMINO_PATHS)) {
  test(`${name} gets a signed receipt for 2 credits, and the same figures`, async () => {
    const plain = await stage.get(path)
    const answer = await stage.get(`${path}&receipt=true`)
    expect([plain.status, answer.status]).toEqual([200, 200])
    expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify(plain.body.data))
    const [before, after] = [plain, answer].map(({ headers }) => Number(headers.get('x-credits-charged')))
    expect(after).toBe((before ?? 0) + 2)
    const { receipt } = answer.body
    const { level, uncovered, reads, family, request, ...rest } = decodePayload(receipt)
    expect({ level, uncovered, reads, family: family.name }).toEqual({
      level: 'signed',
      uncovered: ['data'],
      reads: [],
      family: 'kamino',
    })
    expect(`${request.path}?${request.query}`).toStartWith(path)
    expect(JSON.stringify(rest.answer.data)).toBe(JSON.stringify(plain.body.data))
    expect(JSON.stringify(decodePayload(receipt))).not.toMatch(/127\.0\.0\.1|solana-secret|org_rich/)
  })

  test(`${name} with a receipt is believed by its signature alone`, async () => {
    const { body } = await stage.get(`${path}&receipt=true`)
    const file = encodeReceipt(body.receipt)
    const own = await checked(stage, file)
    expect([own.is, own.verdicts.signature.is, own.verdicts.figures.is]).toEqual(['true', 'true', 'unknown'])
    expect((await checked(stage, JSON.stringify(body))).is).toBe('true')
    const evidence = {
      rpcUrls: [],
      blockHashes: new Map(),
      clock: slowClock,
      work: createWork(new AbortController().signal),
      runner,
    }
    expect((await verifyReceipt(file, { ...evidence, keys: undefined })).is).toBe('unknown')
    const stranger = published({ signer: newSigner() })
    expect((await verifyReceipt(file, { ...evidence, keys: [stranger] })).is).not.toBe('true')
  })

  test(`${name} is false if a figure beside or inside the receipt was changed`, async () => {
    const { body } = await stage.get(`${path}&receipt=true`)
    const beside = JSON.stringify({ ...body, data: changed(body.data) })
    expect((await checked(stage, beside)).is).toBe('false')
    const payload = decodePayload(body.receipt)
    const other = { ...payload, answer: { ...payload.answer, data: changed(payload.answer.data) } }
    const inside = { ...body.receipt, payload: Buffer.from(JSON.stringify(other)).toString('base64') }
    expect((await checked(stage, encodeReceipt(inside))).is).toBe('false')
  })
}

/** The same with the last digit of its text another. */
function changed(data: unknown): unknown {
  const text = JSON.stringify(data)
  const at = text.search(/\d(?=\D*$)/)
  return JSON.parse(`${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`)
}
