import { parseTakenText } from '../../chain/rpc/transport.ts'
import type { HistoryLog } from '../stream.ts'
import { parseLogs } from './parse_logs.ts'

/** Logs that one request found, which may not have been parsed yet. */
export interface WrittenLogs {
  readonly count: number
  /** As the endpoint wrote them, without the brackets of the list; undefined if it wrote them in several answers. */
  readonly text: string | undefined
  /** In order, checked. Throws `UpstreamError`. */
  readonly read: () => Promise<readonly HistoryLog[]>
}

/** More logs are parsed at once, within the limits of answers: a request aims at far fewer. */
const UNREAD_MAX = 5_000
const MEMBER = '"logIndex"'

/** Logs whose text is to be compared before it is parsed; undefined if they must be parsed at once. */
export function takeWritten(
  result: string,
  check: (logs: readonly HistoryLog[]) => readonly HistoryLog[],
): WrittenLogs | undefined {
  const text = unwrapList(result)
  const count = text === undefined ? 0 : countMembers(text)
  if (text === undefined || count > UNREAD_MAX) return undefined
  return { count, text, read: async () => check(await parseTakenText(result, parseLogs)) }
}

/** The text between the brackets of a list. */
export function unwrapList(text: string): string | undefined {
  return text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : undefined
}

/** Logs of a request that were parsed when they came. */
export function toWritten(logs: readonly HistoryLog[], text?: string): WrittenLogs {
  return { count: logs.length, text, read: async () => logs }
}

/** All logs of consecutive requests. Throws `UpstreamError`. */
export async function readWritten(parts: readonly WrittenLogs[]): Promise<readonly HistoryLog[]> {
  const lists: (readonly HistoryLog[])[] = []
  for (const part of parts) lists.push(await part.read())
  return lists.length === 1 ? (lists[0] ?? []) : lists.flat()
}

/** True if two reads are known to consist of the same text, wherever they are divided: then they have the same logs. */
export function isSameText(a: readonly WrittenLogs[], b: readonly WrittenLogs[]): boolean {
  const [text, other] = [joinTexts(a), joinTexts(b)]
  return text !== undefined && text === other
}

function joinTexts(parts: readonly WrittenLogs[]): string | undefined {
  const texts = parts.map(({ text }) => text)
  return texts.includes(undefined) ? undefined : texts.filter((text) => text !== '').join()
}

function countMembers(text: string): number {
  let count = 0
  for (let at = text.indexOf(MEMBER); at >= 0; at = text.indexOf(MEMBER, at + MEMBER.length)) count++
  return count
}
