import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../lib/text/json.ts'
import type { StatedAnswer } from './payload.ts'

/**
 * True if the answer beside a receipt is the stated one, whatever the order of its keys. Its `request_id` differs from
 * answer to answer, and its links have a host.
 */
export function matchesBeside(answer: StatedAnswer, beside: Readonly<Record<string, unknown>>): boolean {
  const { request_id: _, pagination, ...rest } = beside
  const { pagination: statedPagination, ...statedRest } = answer
  return isDeepStrictEqual(rest, statedRest) && matchesPagination(statedPagination, pagination)
}

function matchesPagination(stated: unknown, beside: unknown): boolean {
  if (!isJsonObject(stated) || !isJsonObject(beside)) return stated === undefined && beside === undefined
  const withoutHosts = Object.entries(beside).map(([name, value]) => [name, removeHost(value, stated[name])])
  return isDeepStrictEqual(Object.fromEntries(withoutHosts), stated)
}

/** Returns the stated link if a link differs from it by what stands before the path alone, else the link itself. */
function removeHost(link: unknown, stated: unknown): unknown {
  if (typeof link !== 'string' || typeof stated !== 'string' || !link.endsWith(stated)) return link
  return /^https?:\/\/[^?#]+$/.test(link.slice(0, -stated.length)) ? stated : link
}
