import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readConfig } from '../../../src/config/config.ts'
import { describeServices } from '../../../src/service/routes.ts'

interface Watchable {
  readonly subject: readonly string[]
  readonly figures: readonly string[]
  readonly states: readonly string[]
}
interface Pages {
  listWatchable(document: object): ReadonlyMap<string, Watchable>
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/watchable.ts')
const { listWatchable }: Pages = await import(PATH)

test('what a bell can watch is what the document says of each family', () => {
  const document = JSON.parse(describeServices(readConfig({}, () => '')))
  const watchable = listWatchable(document)
  expect([...watchable.keys()]).toEqual(
    document.paths['/v1/triggers'].post.requestBody.content['application/json'].schema.properties.family.enum,
  )
  expect(watchable.get('uniswap-v3')).toEqual({
    subject: ['token_id', 'manager_address'],
    figures: ['fees_usd', 'value_usd', 'distance_to_edge_percentage'],
    states: ['in_range', 'is_active'],
  })
  expect(watchable.get('uniswap-v4')).toEqual(watchable.get('uniswap-v3'))
  expect(watchable.get('kamino')?.subject.toSorted()).toEqual(['market_address', 'obligation_address', 'wallet'])
  expect(watchable.get('orca-whirlpool')?.subject).toEqual(['position_address', 'wallet'])
  // A family with one figure has no list of them.
  expect(watchable.get('portfolio')).toEqual({ subject: ['wallet'], figures: ['exit_usd'], states: [] })
  for (const [, { subject, figures, states }] of watchable) {
    expect(subject.length).toBeGreaterThan(0)
    expect(figures.length + states.length).toBeGreaterThan(0)
  }
})

test('a document without triggers has nothing to watch', () => {
  expect(listWatchable({}).size).toBe(0)
})
