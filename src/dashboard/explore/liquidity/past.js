/**
 * @typedef {import('../../lib/shapes.d.ts').FullPosition} FullPosition
 * @typedef {{ positions: readonly FullPosition[], failure?: import('../../lib/api.js').Failure }} Past positions at the first moments
 */

/**
 * Reads a position at moments, one after the other, until one fails. Moments already read are not paid again.
 * @param {readonly number[]} moments Unix seconds
 * @param {{ positions: readonly FullPosition[], signal: AbortSignal, read: (moment: number) => Promise<import('../../lib/api.js').Answer<{ data: FullPosition }> | import('../../lib/api.js').Failure>, onPast: (past: Past) => void }} options `positions`: at the first moments, from an earlier run; nothing is read and `onPast` is not called after `signal` fires
 */
export async function readPast(moments, { positions: before, signal, read, onPast }) {
  const positions = [...before]
  onPast({ positions: [...positions] })
  for (const moment of moments.slice(before.length)) {
    const answer = await read(moment)
    if (signal.aborted) return
    if (!answer.ok) return onPast({ positions, failure: answer })
    positions.push(answer.body.data)
    onPast({ positions: [...positions] })
  }
}
