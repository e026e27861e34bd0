"""What watches a run: each file has observers (`craton.driver.march.Observer`) that the time loop asks after every step."""
