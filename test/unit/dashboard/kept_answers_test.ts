import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Kept {
  readonly tag: string
  readonly type: string
  readonly text: string
}
interface Pages {
  createKeptAnswers(getStore: () => object): {
    find(path: string): Kept | undefined
    keep(path: string, answer: Kept): void
    clear(): void
  }
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/kept_answers.ts')
const { createKeptAnswers }: Pages = await import(PATH)

function createStore() {
  const texts = new Map<string, string>()
  return {
    texts,
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
    removeItem: (name: string) => void texts.delete(name),
  }
}

const answer = (text: string): Kept => ({ tag: `"${text.slice(0, 8)}"`, type: 'application/json', text })

test('answers are found by their path, also once the page was loaded anew', () => {
  const store = createStore()
  createKeptAnswers(() => store).keep('v1/a?wallet=1', answer('first'))
  const loaded = createKeptAnswers(() => store)
  expect(loaded.find('v1/a?wallet=1')).toEqual(answer('first'))
  expect(loaded.find('v1/a?wallet=2')).toBeUndefined()
  loaded.keep('v1/a?wallet=1', answer('second'))
  expect(loaded.find('v1/a?wallet=1')?.text).toBe('second')
})

test('the oldest make place, by number and by characters', () => {
  const store = createStore()
  const kept = createKeptAnswers(() => store)
  for (let index = 0; index <= 200; index++) kept.keep(`v1/${index}`, answer('x'))
  expect([kept.find('v1/0'), kept.find('v1/1')?.text]).toEqual([undefined, 'x'])
  expect(store.texts.size).toBe(201)
  kept.keep('large', answer('y'.repeat(1_999_900)))
  expect([kept.find('v1/200'), kept.find('large')?.text.length]).toEqual([undefined, 1_999_900])
  kept.keep('too large', answer('z'.repeat(2_000_000)))
  expect([kept.find('too large'), kept.find('large')?.tag]).toEqual([undefined, '"yyyyyyyy"'])
})

test('forgetting leaves nothing of them, and nothing else', () => {
  const store = createStore()
  store.setItem('walletscope.recent', '[]')
  const kept = createKeptAnswers(() => store)
  kept.keep('v1/a', answer('a'))
  createKeptAnswers(() => store).clear()
  expect([...store.texts.keys()]).toEqual(['walletscope.recent'])
})

test('where the storage is full, nothing stays that forgetting does not find', () => {
  const store = createStore()
  const full = {
    ...store,
    setItem(name: string, text: string) {
      if (name.endsWith('answers')) throw new Error('full')
      store.setItem(name, text)
    },
  }
  createKeptAnswers(() => full).keep('v1/a', answer('a'))
  createKeptAnswers(() => store).clear()
  expect([...store.texts.keys()]).toEqual([])
})

test('without storage nothing is kept, and nothing fails', () => {
  const kept = createKeptAnswers(() => {
    throw new Error('denied')
  })
  kept.keep('v1/a', answer('a'))
  kept.clear()
  expect(kept.find('v1/a')).toBeUndefined()
})
