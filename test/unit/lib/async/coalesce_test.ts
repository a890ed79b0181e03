import { expect, test } from 'bun:test'
import { coalesce } from '../../../../src/lib/async/coalesce.ts'

/** Doubles numbers, grouped by sign; records the calls. */
function doubling(itemsMax = 10) {
  const asked: (readonly number[])[] = []
  const ask = coalesce<number, number>({
    getKey: (item) => String(Math.sign(item)),
    itemsMax,
    async answer(items) {
      asked.push(items)
      if (items.includes(13)) throw new Error('Unlucky')
      return items.map((item) => 2 * item)
    },
  })
  return { asked, ask }
}

test('coalesce() combines items of one turn and one key, and returns each its own result', async () => {
  const { asked, ask } = doubling()
  expect(await Promise.all([ask(1), ask(-1), ask(2), ask(-3)])).toEqual([2, -2, 4, -6])
  expect(asked).toEqual([
    [1, 2],
    [-1, -3],
  ])
  expect(await ask(5)).toBe(10)
  expect(asked).toHaveLength(3)
})

test('coalesce() splits groups above itemsMax, and a failure rejects its group only', async () => {
  const { asked, ask } = doubling(2)
  const settled = await Promise.allSettled([ask(1), ask(13), ask(3), ask(4), ask(5)])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(asked).toEqual([[1, 13], [3, 4], [5]])
})
