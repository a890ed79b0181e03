import { describe, expect, test } from 'bun:test'
import {
  createYielder,
  mapCooperatively,
  runCooperatively,
  type Steps,
  sortInSteps,
  yieldIfLarge,
} from '../../../../src/lib/async/cooperative.ts'

describe('runCooperatively()', () => {
  test('yields between steps and returns the result of the work', async () => {
    const order: string[] = []
    function* work(): Steps<number> {
      for (let step = 0; step < 3; step++) {
        order.push(`step ${step}`)
        setImmediate(() => order.push(`other ${step}`))
        yield
      }
      return 7
    }
    expect(await runCooperatively(work())).toBe(7)
    expect(order).toEqual(['step 0', 'other 0', 'step 1', 'other 1', 'step 2', 'other 2'])
  })

  test('does not yield for work of one step', async () => {
    let turned = false
    setImmediate(() => {
      turned = true
    })
    await runCooperatively((function* (): Steps<void> {})())
    expect(turned).toBe(false)
  })

  test('throws what the work throws', async () => {
    function* work(): Steps<void> {
      yield
      throw new Error('broken')
    }
    await expect(runCooperatively(work())).rejects.toThrow('broken')
  })
})

test('createYielder() yields once steps have run for a millisecond', async () => {
  let nowMs = 0
  const breaks = createYielder({ monotonicMs: () => nowMs })
  const taken: number[] = []
  for (let step = 1; step <= 100; step++) {
    nowMs += 0.05
    if (!breaks.isDue()) continue
    let turned = false
    setImmediate(() => {
      turned = true
    })
    await breaks.take()
    expect(turned).toBe(true)
    taken.push(step)
  }
  expect(taken).toEqual([24, 48, 72, 96])
})

describe('mapCooperatively()', () => {
  const countTurns = async (work: () => Promise<unknown>) => {
    let [turns, isOver] = [0, false]
    const count = () => {
      if (isOver) return
      turns++
      setImmediate(count)
    }
    setImmediate(count)
    await work()
    isOver = true
    return turns
  }

  test('returns the results in the order of the items', async () => {
    expect(await mapCooperatively(['a', 'b', 'c', 'd', 'e'], 2, (item, index) => item + index)).toEqual([
      ...['a0', 'b1', 'c2', 'd3', 'e4'],
    ])
  })

  test('processes itemsPerTurn items in a turn, and does not yield for fewer', async () => {
    const items = Array.from({ length: 100 }, (_, index) => index)
    expect(await countTurns(() => mapCooperatively(items, 100, String))).toBe(0)
    expect(await countTurns(() => mapCooperatively(items, 10, String))).toBe(9)
  })

  test('throws what the work throws', async () => {
    const work = mapCooperatively([1, 2, 3], 1, (item) => {
      if (item === 3) throw new Error('broken')
    })
    await expect(work).rejects.toThrow('broken')
  })
})

describe('yieldToEventLoop()', () => {
  test('resumes each waiter in a turn of its own, one after the other', async () => {
    let turns = 0
    let isOver = false
    setImmediate(function count() {
      turns++
      if (!isOver) setImmediate(count)
    })
    const seen: string[] = []
    function* work(name: string): Steps<void> {
      for (let step = 0; step < 3; step++) {
        yield
        seen.push(`${name} in turn ${turns}`)
      }
    }
    await Promise.all(['a', 'b', 'c'].map((name) => runCooperatively(work(name))))
    isOver = true
    expect(seen.map((each) => each[0]).join('')).toBe('abcabcabc')
    expect(new Set(seen.map((each) => each.slice(1))).size).toBe(9)
  })
})

describe('yieldIfLarge()', () => {
  test.each([
    [10, false],
    [10_000, true],
  ])('before a pass over %d items, a turn: %p', async (length, isTurned) => {
    let turned = false
    setImmediate(() => {
      turned = true
    })
    await yieldIfLarge({ length })
    expect(turned).toBe(isTurned)
  })
})

describe('sortInSteps()', () => {
  /** Numbers below 1,000, so that many are equal, each with its index. */
  function items(count: number) {
    let state = 1
    return Array.from({ length: count }, (_, place) => {
      state = (state * 48_271) % 2_147_483_647
      return { value: state % 1_000, place }
    })
  }

  test.each([0, 1, 2, 4_096, 4_097, 8_192, 30_001])(
    'sorts %d items as sort() does, equal ones in their order',
    async (count) => {
      const list = items(count)
      const before = [...list]
      const sorted = await runCooperatively(sortInSteps(list, (a, b) => a.value - b.value))
      expect(sorted).toEqual(before.toSorted((a, b) => a.value - b.value))
      expect(list).toEqual(before)
    },
  )

  test('takes a step for every few thousand items', () => {
    const steps = [...sortInSteps(items(100_000), (a, b) => a.value - b.value)]
    expect(steps.length).toBeGreaterThan(100)
  })
})
