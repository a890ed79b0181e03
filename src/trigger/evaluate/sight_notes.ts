import type { WatchedTrigger } from './watchlist.ts'

/** Creates notes of which triggers of figures a block left out: their subject was not read, or has no such figure now. */
export function createSightNotes() {
  const missed = new Set<WatchedTrigger>()
  const seen = new Set<WatchedTrigger>()
  return {
    note(entry: WatchedTrigger, isKnown: boolean): void {
      if (!isKnown) missed.add(entry)
      else if (entry.unseen !== undefined) seen.add(entry)
    },
    /** Notes that a subject could not be read. */
    noteUnread({ entries }: { readonly entries: Iterable<WatchedTrigger> }): void {
      for (const entry of entries) if (!('event' in entry.trigger.clause)) missed.add(entry)
    },
    /** Triggers newly left out, and those evaluated again; of failed families, which are left out as a whole, none. */
    list(failed: ReadonlySet<string> = new Set()) {
      return {
        missed: [...missed].filter(({ unseen, trigger }) => unseen === undefined && !failed.has(trigger.family)),
        seen: [...seen],
      }
    },
  }
}
