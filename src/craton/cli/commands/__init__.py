"""What can be typed: options, arguments and help of the commands, by groups."""
