import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { LENS_ADDRESS } from '../../../../src/chain/call/bundle/bundle.ts'
import type { Chain } from '../../../../src/chain/chain.ts'
import { createQuorumClient } from '../../../../src/chain/quorum/quorum_client.ts'
import type { ChainClient, Endpoint, EthCall, ReadOptions } from '../../../../src/chain/rpc/client.ts'
import { untilAborted } from '../../../../src/lib/async/abort.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { UnavailableError, UpstreamError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const HASH: Hex = `0x${'ab'.repeat(32)}`
const never = createWork(new AbortController().signal)

/** Reads a call by two of these endpoints; a single one that answers is believed, and counted. */
function read(
  answers: readonly (Hex | 'late' | 'gone')[],
  { request, ...options }: Partial<ReadOptions> & { readonly request?: Omit<EthCall, 'block'> } = {},
) {
  const clock = createTestClock()
  const asked: number[] = []
  const requests: EthCall[] = []
  const seen: ReadOptions[] = []
  const chain = { id: 5, name: 'Test', rpcUrls: answers.map((_, index) => `http://${index}.test/`) } as unknown as Chain
  const createEndpoint = (index: number) =>
    ({
      index,
      learned: new Map(),
      async call(asking: EthCall, work: Work) {
        asked.push(index)
        requests.push(asking)
        const answer = answers[index]
        if (answer === 'late') return await untilAborted(new Promise<never>(() => {}), work.signal)
        if (answer === 'gone') throw new UpstreamError('The endpoint failed')
        return answer
      },
    }) as unknown as Endpoint
  const client: ChainClient = {
    chain,
    clock,
    log: silentLog,
    background: [],
    async read(attempt, reading) {
      seen.push(reading)
      for (const index of answers.keys()) {
        try {
          return await attempt(createEndpoint(index), reading.work)
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error
        }
      }
      throw new UnavailableError('Cannot read chain 5')
    },
  }
  let alone = 0
  const comparing = createQuorumClient(client, { quorum: 2, dissent() {}, onAlone: () => void alone++ })
  const answer = comparing
    .read(
      (endpoint, work) => endpoint.call({ ...(request ?? { to: HASH, data: '0x' }), block: { hash: HASH } }, work),
      { work: never, ...options },
    )
    .catch((error: Error) => error.message)
  return { answer, clock, asked, requests, seen, alone: () => alone }
}

test('two endpoints that agree are not one word', async () => {
  const { answer, alone, asked, seen } = read(['0x01', '0x01', '0x02'])
  expect([await answer, alone(), asked.toSorted()]).toEqual(['0x01', 0, [0, 1]])
  expect(seen.every(({ isCompared }) => isCompared === true)).toBe(true)
})

test('a second endpoint is asked with the same code and storage of other accounts, and in no mode without them', async () => {
  const additionalCodes = { [`0x${'aa'.repeat(20)}`]: '0x6001' } as const
  const storage = [{ address: `0x${'bb'.repeat(20)}`, slot: HASH, word: HASH }] as const
  const request = { to: LENS_ADDRESS, code: '0x6000', data: '0x12', additionalCodes, storage } as const
  const { answer, requests } = read(['0x01', '0x01'], { request })
  expect(await answer).toBe('0x01')
  expect(requests).toHaveLength(2)
  for (const each of requests) expect(each).toMatchObject({ to: LENS_ADDRESS, additionalCodes, storage })
  const refused = read(['0x01', 'gone'], { request })
  await refused.answer
  expect(refused.requests.every(({ to }) => to === LENS_ADDRESS)).toBe(true)
})

test('endpoints that contradict each other are not believed', async () => {
  const { answer, alone } = read(['0x01', '0x02'])
  expect(await answer).toContain('endpoints 1 and 2 contradict each other')
  expect(alone()).toBe(0)
})

test.each([[['0x01']], [['0x01', 'gone']], [['gone', '0x01']]] as const)(
  'of %o the only word counts',
  async (answers) => {
    const { answer, alone } = read(answers)
    expect([await answer, alone()]).toEqual(['0x01', 1])
  },
)

test('an endpoint that is late by a second leaves the word of the other', async () => {
  const { answer, alone, clock } = read(['0x01', 'late'])
  let settled: unknown
  void answer.then((value) => {
    settled = value
  })
  await clock.advance(999)
  expect(settled).toBeUndefined()
  await clock.advance(1)
  expect([settled, alone()]).toEqual(['0x01', 1])
})

test('background reads are not compared', async () => {
  const { answer, asked } = read(['0x01', '0x02'], { priority: 'background' })
  expect([await answer, asked]).toEqual(['0x01', [0]])
})
