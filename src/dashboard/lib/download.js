/**
 * Downloads a file in the browser.
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export function downloadFile(name, text, type) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
