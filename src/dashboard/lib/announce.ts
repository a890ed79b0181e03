/** The one region of a page whose words are read aloud when they change. */
export const ANNOUNCER_ID = 'announcer'

/** Has a reader of the screen say a text: many regions of their own would all be watched. */
export function announce(text: string) {
  const region = document.getElementById(ANNOUNCER_ID)
  if (region !== null) region.textContent = text
}
