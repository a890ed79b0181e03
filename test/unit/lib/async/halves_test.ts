import { expect, test } from 'bun:test'
import { readInHalves } from '../../../../src/lib/async/halves.ts'

function reader(fails: (item: number) => boolean) {
  const asked: (readonly number[])[] = []
  const read = async (part: readonly number[]) => {
    asked.push(part)
    if (part.some(fails)) throw new Error(`Cannot read ${part.length}`)
    return part.map((item) => item * 10)
  }
  return { asked, read }
}

const items = Array.from({ length: 100 }, (_, index) => index)

test('of many items the one that cannot be read fails alone, in a few reads', async () => {
  for (const culprit of [0, 37, 99]) {
    const { asked, read } = reader((item) => item === culprit)
    const results = await readInHalves(items, read)
    expect(results.map((each) => (each.status === 'fulfilled' ? each.value : undefined))).toEqual(
      items.map((item) => (item === culprit ? undefined : item * 10)),
    )
    expect(asked.length).toBeLessThan(17)
  }
})

test('many items that cannot be read, apart from one another, leave all others their results', async () => {
  const { read } = reader((item) => item % 20 === 10)
  const results = await readInHalves(items, read)
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(items.map((item) => item % 20 !== 10))
})

test('items beside one another that cannot be read, or the first of very many, take no others with them', async () => {
  for (const [count, culprits] of [
    [250, [0, 1, 2, 3]],
    [250, [246, 247, 248, 249]],
    [500, [0]],
  ] as const) {
    const many = Array.from({ length: count }, (_, index) => index)
    const { asked, read } = reader((item) => culprits.some((each) => each === item))
    const results = await readInHalves(many, read)
    const rejected = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
    expect(rejected).toEqual([...culprits])
    expect(asked.length).toBeLessThan(24)
  }
})

test('a source that fails for all items is left in peace, at once if the error has none of them for its cause', async () => {
  const { asked, read } = reader(() => true)
  const results = await readInHalves(items, read)
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(results).toHaveLength(100)
  expect(asked.length).toBe(16)
  asked.length = 0
  await readInHalves(items, read, () => true)
  expect(asked.length).toBe(1)
})
