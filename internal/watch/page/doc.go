// Package page is the live page: one static page that fetches a view (package view) once a second and shows it. Its files are in
// this package, and it loads nothing from elsewhere. Text of processes becomes text of the page, never markup.
package page
