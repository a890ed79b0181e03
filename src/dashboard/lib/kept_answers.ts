/** Answer that this tab has, as it was sent. */
export interface KeptAnswer {
  /** Its `ETag`: it names the blocks and all figures of the answer. */
  readonly tag: string
  readonly type: string
  readonly text: string
}

interface TextStore {
  getItem(name: string): string | null
  setItem(name: string, text: string): void
  removeItem(name: string): void
}

const INDEX = 'walletscope.answers'
const PREFIX = 'walletscope.answer:'
/** Characters in all: browsers give a tab about five million. */
const CHARS_MAX = 2_000_000
const COUNT_MAX = 200

/**
 * Keeps the latest answers to the key of this tab by path, so that the same question at the same blocks is not paid for again.
 * Without storage nothing is kept. They are forgotten with the key.
 */
export function createKeptAnswers(getStore: () => TextStore) {
  /** Paths with the characters of their entries, oldest first. */
  let sizes: Map<string, number> | undefined

  function readSizes(store: TextStore) {
    if (sizes !== undefined) return sizes
    sizes = new Map(parseJson<[string, number][]>(store.getItem(INDEX)) ?? [])
    return sizes
  }

  function remove(store: TextStore, path: string) {
    store.removeItem(PREFIX + path)
    readSizes(store).delete(path)
  }

  function put(store: TextStore, path: string, text: string) {
    if (text.length > CHARS_MAX) return
    const known = readSizes(store)
    remove(store, path)
    let chars = [...known.values()].reduce((sum, size) => sum + size, text.length)
    for (const [oldest, size] of known) {
      if (chars <= CHARS_MAX && known.size < COUNT_MAX) break
      remove(store, oldest)
      chars -= size
    }
    known.set(path, text.length)
    // The index comes first: where the storage is full, no answer stays that it does not name.
    store.setItem(INDEX, JSON.stringify([...known]))
    store.setItem(PREFIX + path, text)
  }

  return {
    find(path: string) {
      return attempt(() => parseJson<KeptAnswer>(getStore().getItem(PREFIX + path)))
    },
    keep(path: string, answer: KeptAnswer) {
      attempt(() => put(getStore(), path, JSON.stringify(answer)))
    },
    clear() {
      attempt(() => {
        const store = getStore()
        for (const path of [...readSizes(store).keys()]) remove(store, path)
        store.removeItem(INDEX)
      })
    },
  }
}

/** Runs `work`; undefined if storage is disabled or full, or holds what is not ours: the page works without it. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

function parseJson<T>(text: string | null): T | undefined {
  return text === null ? undefined : JSON.parse(text)
}

/** Those of this tab. */
export const keptAnswers: ReturnType<typeof createKeptAnswers> = createKeptAnswers(() => sessionStorage)
