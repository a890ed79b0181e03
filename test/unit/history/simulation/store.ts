import type { Hex } from 'viem'
import type { LendingEvent } from '../../../../src/family/lending/lending_event.ts'
import type { Coverage, SubjectCoverage } from '../../../../src/history/coverage.ts'
import { type Range, subtractRanges } from '../../../../src/history/range.ts'
import type { Stream } from '../../../../src/history/stream.ts'
import { EMITTED } from '../../../support/history/scene.ts'

/** A process died at a statement: before PostgreSQL had it, or after, without the answer. */
export class CrashError extends Error {}

/** A database that several simulated processes share. Each statement happens whole or not at all. */
export interface SimulatedStore {
  /** What one process sees of it; `crashes` says, before and after each statement, whether the process dies there. */
  open(holder: string, crashes: () => boolean): { readonly coverage: Coverage; readonly stream: Stream<LendingEvent> }
  /** All rows of a wallet, in order. Throws if one was ever stored in two versions. */
  rowsOf(wallet: Hex): readonly LendingEvent[]
  /** Parts that were stored, and blocks of them that were complete already. */
  readonly parts: number
}

interface Subject {
  ranges: readonly Range[]
  agreed: readonly Range[]
  checkedTo: number
  leaseHolder: string | undefined
  leaseUntilMs: number
}

const LEASE_MS = 30_000

/** Makes an empty one. */
export function simulateStore(nowMs: () => number): SimulatedStore {
  const subjects = new Map<Hex | null, Subject>()
  const rows = new Map<string, LendingEvent>()
  let parts = 0

  function findSubject(name: Hex | null): Subject {
    const known = subjects.get(name) ?? {
      ranges: [],
      agreed: [],
      checkedTo: -1,
      leaseHolder: undefined,
      leaseUntilMs: 0,
    }
    subjects.set(name, known)
    return known
  }

  function isAgreed({ wallet, block }: LendingEvent): boolean {
    const agreed = [...findSubject(wallet).agreed, ...findSubject(null).agreed]
    return agreed.some(({ fromBlock, toBlock }) => block >= fromBlock && block <= toBlock)
  }

  function put(row: LendingEvent): void {
    const key = `${row.wallet}:${row.block}:${row.logIndex}:${row.leg}`
    const known = rows.get(key)
    if (known !== undefined && String(known.amount) !== String(row.amount)) throw new Error(`Two versions of ${key}`)
    rows.set(key, row)
  }

  return {
    open(holder, crashes) {
      async function statement<T>(run: () => T): Promise<T> {
        if (crashes()) throw new CrashError('Died before a statement')
        const result = run()
        if (crashes()) throw new CrashError('Died after a statement')
        return result
      }
      const stream: Stream<LendingEvent> = {
        ...EMITTED,
        table: {
          ...EMITTED.table,
          store: (_, part) =>
            statement(() => {
              parts++
              const isMine = ({ wallet }: LendingEvent) => part.subjects?.includes(wallet) ?? true
              const isWithin = ({ block }: LendingEvent) => block >= part.fromBlock && block <= part.toBlock
              for (const [key, row] of rows) {
                if (part.witnesses >= 2 && isMine(row) && isWithin(row) && !isAgreed(row)) rows.delete(key)
              }
              for (const row of part.rows) if (part.witnesses >= 2 || !isAgreed(row)) put(row)
              for (const name of part.subjects ?? [null]) {
                const subject = findSubject(name)
                subject.ranges = joined([...subject.ranges, part])
                if (part.witnesses >= 2) subject.agreed = joined([...subject.agreed, part])
              }
            }),
        },
      }
      const coverage: Coverage = {
        find: (_, names) =>
          statement(
            () =>
              new Map(
                names.map((name): [Hex | null, SubjectCoverage] => {
                  const { ranges, agreed, checkedTo, leaseHolder, leaseUntilMs } = findSubject(name)
                  const isLeased = leaseHolder !== undefined && leaseHolder !== holder && leaseUntilMs > nowMs()
                  return [name, { ranges, agreed, checkedTo, isLeased }]
                }),
              ),
          ),
        lease: (_, names) =>
          statement(() =>
            (names ?? [null]).filter((name) => {
              const subject = findSubject(name)
              const isFree =
                subject.leaseHolder === undefined || subject.leaseHolder === holder || subject.leaseUntilMs <= nowMs()
              if (isFree) {
                subject.leaseHolder = holder
                subject.leaseUntilMs = nowMs() + LEASE_MS
              }
              return isFree
            }),
          ),
        release: (_, names) =>
          statement(() => {
            for (const name of names ?? [null]) {
              const subject = findSubject(name)
              if (subject.leaseHolder === holder) subject.leaseHolder = undefined
            }
          }),
        recordCheck: (_, name, toBlock) =>
          statement(() => {
            findSubject(name).checkedTo = toBlock
          }),
        readAnchorState: async () => ({ anchor: undefined, epoch: 0 }),
        moveAnchor: async () => {},
        rollBack: async () => false,
        resume: async () => {},
        stop: async () => {},
        listProgress: async () => [],
      }
      return { coverage, stream }
    },
    rowsOf: (wallet) =>
      [...rows.values()]
        .filter((row) => row.wallet === wallet)
        .sort((a, b) => a.block - b.block || a.logIndex - b.logIndex),
    get parts() {
      return parts
    },
  }
}

/** Ranges as few as they can be written with. */
function joined(ranges: readonly Range[]): readonly Range[] {
  const all = { fromBlock: 0, toBlock: Math.max(...ranges.map(({ toBlock }) => toBlock)) + 1 }
  return [...subtractRanges(all, subtractRanges(all, ranges))].reverse()
}
